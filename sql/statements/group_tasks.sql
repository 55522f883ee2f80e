-- Groups the merged lines by the properties that all tasks in a slice share, and counts each group's lines and slices
-- (of :slice_size tasks). New slices are numbered after the existing slices of run :run.
select
  already, reused, rests, priority, tasks, slices, unreadable, weighted, aged,
  coalesce((select max(slice) from slices where run_id = :run::bigint), 0)
    + sum(slices) over (order by already, reused, rests, priority)
    - slices
    + 1 as first_slice
from (
  select
    already, reused, rests, priority,
    count(*) as tasks, (count(*) + :slice_size::integer - 1) / :slice_size::integer as slices,
    count(*) filter (where unreadable) as unreadable, count(weight) > 0 as weighted,
    count(answered) > 0 or bool_or(overdue) as aged
  from pg_temp.merged
  group by already, reused, rests, priority
) as counted
order by already, reused, rests, priority
