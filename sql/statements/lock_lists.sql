-- Locks the lists of the given runs, in order of id. Lists without a budget are not locked.
select
from lists
where budget is not null
  and id = any(array(select list_id from runs where runs.id = any(:runs::bigint[])))
order by id
for no key update
