-- Ends a round of a slice, and counts at most :near_the_end open slices of the run.
with rest as (
  select count(*) as open, min(coalesce(not_before, clock_timestamp())) as due
  from tasks
  where run_id = :run and slice = :slice and state = 'open'
),
others as (
  select count(*) as open
  from (select from slices where run_id = :run and done_at is null limit :near_the_end) counted
),
hasty as materialized (
  select set_config('synchronous_commit', 'off', true)
)
update slices
set
  round = case when rest.open > 0 then round + 1 else round end,
  done_at = case when rest.open > 0 then null else clock_timestamp() end
from rest, others, hasty
where run_id = :run and slice = :slice and round = :round
returning
  run_id as run, slice, round, priority, turn, rest.open > 0 as open, others.open < :near_the_end as near,
  greatest(0, extract(epoch from rest.due - clock_timestamp())::float8 * 1000) as "delayMs"
