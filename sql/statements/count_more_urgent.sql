-- Counts the open tasks that are more urgent than priority :priority. Stops counting at :limit.
select count(*)::integer as count
from (
  select 1
  from slices s
  join runs r on r.id = s.run_id and r.state = 'open'
  join tasks t on t.run_id = s.run_id and t.slice = s.slice and t.state = 'open'
  where s.done_at is null
    and s.priority < :priority
    and not t.id = any(:except::bigint[])
    and not exists (select from calls c where c.task_id = t.id and c.outcome is null)
  limit :limit
) urgent
