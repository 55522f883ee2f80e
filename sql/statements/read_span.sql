-- Reads the days of a period, and the earliest day that is read at once. Without an end it ends at the newest full
-- day. Parameters: :since, :until (date, or null), :days (the length without a start), :most (integers).
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
