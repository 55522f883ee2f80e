-- Weight, labels and target page of each query in each run. Later changes to the list do not affect earlier days.
create or replace view analysis.memberships as
select
  runs.run_date,
  lists.name as list,
  tasks.query_id,
  queries.q,
  coalesce(case when earlier.until is null then list_queries.weight else earlier.weight end, 1) as weight,
  coalesce(case when earlier.until is null then list_queries.tags else earlier.tags end, '{}') as tags,
  case when earlier.until is null then list_queries.target_url else earlier.target_url end as target_url,
  tasks.state,
  runs.list_id,
  runs.id as run_id,
  tasks.id as task_id
from tasks
join runs on runs.id = tasks.run_id
left join lists on lists.id = runs.list_id
left join list_queries on list_queries.list_id = runs.list_id and list_queries.query_id = tasks.query_id
left join (
  select
    list_id, query_id, until, weight, target_url, tags,
    lag(until) over (partition by list_id, query_id order by until) as since
  from list_query_history
) as earlier
  on earlier.list_id = runs.list_id
  and earlier.query_id = tasks.query_id
  and runs.created_at < earlier.until
  and (earlier.since is null or runs.created_at >= earlier.since)
left join queries on queries.id = tasks.query_id;
comment on view analysis.memberships is 'One row for each task, with the query''s weight, labels and target page when the run was planned.';
comment on column analysis.memberships.tags is 'Labels that the query had in the list when the run was planned.';
comment on column analysis.memberships.target_url is 'Page that should rank for the query, as specified in the list when the run was planned; null if the list specified no page.';
comment on column analysis.memberships.state is 'State of the task: open, answered, reused, not_asked, failed, unknown, unaffordable or cancelled.';
comment on column analysis.memberships.task_id is 'Id of the task.';
