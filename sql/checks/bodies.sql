-- Bodies, the archive and deleted data

-- check: each response has its body, unless bodies of its age were pruned or archived
select count(*) as violations
from calls c
left join searches s on s.call_id = c.id
where (s.id is not null or c.http_status is not null)
  and c.outcome is not null
  and not exists (select from raw_answers r where r.call_id = c.id)
  and not exists (
    select
    from tasks t
    join runs r on r.id = t.run_id
    join archived_days a on a.run_date = r.run_date
    where t.id = c.task_id
  )
  and not exists (select from forgotten_tasks f where f.task_id = c.task_id)
  and not exists (select from forgotten_bodies f where f.call_id = c.id)
  and coalesce(s.fetched_at, c.sent_at) >= coalesce(
    (select max(p.received_before) from prunings p),
    '-infinity'
  );

-- check: no more bodies are missing than were pruned, archived or forgotten
select count(*) as violations
from (
  select count(*) as bodies
  from searches s
  where not s.archived
    and not exists (select from raw_answers r where r.call_id = s.call_id)
    and not exists (select from forgotten_bodies f where f.call_id = s.call_id)
    and not exists (select from forgotten_tasks f where f.task_id = s.task_id)
) gone
where gone.bodies > (select coalesce(sum(p.bodies), 0) from prunings p);

-- check: each archived answer belongs to an archived day, and each archived day has its recorded number of answers
select count(*) as violations
from (
  select runs.run_date, count(*) as answers
  from searches s
  join tasks on tasks.id = s.task_id
  join runs on runs.id = tasks.run_id
  where s.archived
  group by runs.run_date
) held
full join (
  select run_date, sum(answers) as answers from archived_days group by run_date
) told using (run_date)
where coalesce(held.answers, 0) <> coalesce(told.answers, -1);

-- check: no archived answer still has rows or a body in the tables
select count(*) as violations
from searches s
where s.archived
  and (
    exists (select from organic_results f where f.search_id = s.id)
    or exists (select from search_entities f where f.search_id = s.id)
    or exists (select from search_clusters f where f.search_id = s.id)
    or exists (select from search_related_searches f where f.search_id = s.id)
    or exists (select from search_features f where f.search_id = s.id)
    or exists (select from raw_answers f where f.call_id = s.id)
  );

-- check: no request or response for a forgotten query is left
select count(*) as violations
from forgotten_tasks f
left join calls c on c.task_id = f.task_id
where c.query_id <> uuid '00000000-0000-0000-0000-000000000000'
  or c.error_message is not null
  or exists (select from tasks t where t.id = f.task_id)
  or exists (select from raw_answers r where r.call_id = c.id);

-- check: no message contains an API key
select count(*) as violations
from (
  select error_message as said from calls
  union all select error_message from tasks
  union all select detail from stops
  union all select parse_error from searches
) messages
where said ~ 'sk_(live|test)_[A-Za-z0-9_-]';
