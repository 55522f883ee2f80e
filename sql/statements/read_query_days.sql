-- Reads every run that included a query, newest first, with the answer for the run date and the cost of the query.
-- Parameters: :query (uuid), :since, :until (date).
select
  runs.run_date as "runDate", runs.id as run, runs.list_id as "listId", lists.name as list, tasks.state,
  tasks.error_code as "errorCode", observed.search_id as search,
  case
    when observed.search_id is not null then null
    when tasks.state not in ('answered', 'reused', 'not_asked') then tasks.state
    when searches.parse_error is not null then 'unreadable'
    when runs.run_date in (select run_date from analysis.away_days) or searches.archived then 'archived'
    when runs.suspect then 'suspect'
    else 'hidden'
  end as silence,
  observed.depth, observed.evidence,
  observed.fetched_at as "fetchedAt", spent.calls, spent.credits
from runs
join lists on lists.id = runs.list_id
join tasks on tasks.run_id = runs.id and tasks.query_id = :query
left join searches on searches.id = tasks.search_id
left join (
  select *
  from analysis.observations
  where observations.query_id = :query
    and observations.run_date between :since::date and :until::date
  offset 0
) as observed on observed.run_date = runs.run_date
cross join lateral (
  select
    count(*) filter (where outcome is distinct from 'unsent') as calls,
    coalesce(sum(credits_used), 0) as credits
  from calls
  where calls.task_id = tasks.id
) as spent
where runs.run_date between :since::date and :until::date
order by runs.run_date desc, runs.id desc;
