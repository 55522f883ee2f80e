-- Locks the lists of these runs that have a budget, in order of id.
select
from lists
where budget is not null
  and id = any(array(select list_id from runs where runs.id = any(:runs::bigint[])))
order by id
for no key update
