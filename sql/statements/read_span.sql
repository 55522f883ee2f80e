-- Reads the first and last day of a period, and the earliest day that can be read together with the last day. By
-- default, the period ends on the most recent full day. Parameters: :since, :until (date, or null), :days (integer,
-- length of the period if no start is given), :most (integer, maximum length of a period).
select
  coalesce(:since::date, last.day - (:days::integer - 1)) as since,
  last.day as until,
  last.day - (:most::integer - 1) as earliest
from (
  select greatest(
    coalesce(:until::date, analysis.newest_day(), (select max(run_date) from runs), current_date),
    :since::date
  ) as day
) as last;
