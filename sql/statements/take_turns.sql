-- Sets the turns of run :run's slices, from slice :first. A turn is the cumulative expected cost up to the end of
-- the slice, divided by the list's share :part. Delivery in order of turn gives each list its share,
-- except for slices in progress, until the list has no queries left. Unused credits go to the other lists in
-- proportion to their shares.
update slices
set turn = coalesce(costs.credits / nullif(:part::float8, 0), 'infinity')
from (
  select slice, sum(sum(price)) over (order by slice) as credits
  from tasks
  join pg_temp.merged on merged.id = tasks.query_id
  where run_id = :run::bigint
    and slice >= :first::bigint
  group by slice
) as costs
where run_id = :run::bigint
  and slices.slice = costs.slice
