-- Reads the first and last day of a period, and the earliest day that can be read together with the last one. A period
-- without an end ends on the newest full day. Parameters: :since, :until (date, or null), :days (the length without a
-- start), :most (integers).
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
