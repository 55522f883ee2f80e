-- Counts the unfinished days since :since. Days whose computation has started are counted
-- separately.
select
  count(*) filter (where finished_days.id is not null) as begun,
  count(*) filter (where finished_days.id is null) as missing
from analysis.unfinished_days
left join finished_days using (run_date)
where run_date >= :since::date
