-- Selects the ended tasks of the queries in :queries, at most :most (null: all). If :answers is not
-- empty, selects only tasks that bought or use one of these answers. Looks up the tasks by key, run
-- by run.
select t.id
from runs r
cross join unnest(:queries::uuid[]) as asked (query_id)
cross join lateral (
  select t.id, t.state, t.search_id from tasks t where t.run_id = r.id and t.query_id = asked.query_id offset 0
) as t
where t.state <> 'open'
  and (
    cardinality(:answers::bigint[]) = 0
    or t.search_id = any(:answers::bigint[])
    or t.id in (select s.task_id from searches s where s.id = any(:answers::bigint[]))
  )
order by t.id
limit :most::bigint
