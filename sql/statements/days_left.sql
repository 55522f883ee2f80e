-- Counts the unfinished days since :since, and separately those whose computation has begun.
select
  count(*) filter (where finished_days.id is not null) as begun,
  count(*) filter (where finished_days.id is null) as missing
from analysis.unfinished_days
left join finished_days using (run_date)
where run_date >= :since::date
