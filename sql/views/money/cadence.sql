-- Interval at which each query in an adaptive list is asked, with the reason and the next date.
create or replace view analysis.cadence as
select
  lists.name as list,
  cadences.query_id,
  queries.q,
  cadences.interval_days,
  cadences.due_on,
  cadences.by_chance,
  cadences.why,
  cadences.decided_on,
  newest.run_date as last_run_date,
  newest.fetched_at,
  newest.search_id
from cadences
join lists on lists.id = cadences.list_id
left join queries on queries.id = cadences.query_id
left join lateral (
  select runs.run_date, searches.fetched_at, searches.id as search_id
  from searches
  join tasks on tasks.id = searches.task_id
  join runs on runs.id = tasks.run_id
  where searches.query_id = cadences.query_id
    and searches.parse_error is null
    and searches.origin = any ((select analysis.origins())::text[])
  order by searches.fetched_at desc, searches.id desc
  limit 1
) as newest on true;
comment on view analysis.cadence is 'Latest decision on how often each query in a list with an adaptive schedule is asked, with the reason and the next date. A query without a row is asked every night. An interval set by the list (every) takes precedence.';
comment on column analysis.cadence.list is 'Name of the list.';
comment on column analysis.cadence.interval_days is 'Number of days between two purchases of the query.';
comment on column analysis.cadence.due_on is 'First run date on which the query will be asked again.';
comment on column analysis.cadence.by_chance is 'True if the query was not due but was selected at random to be asked on decided_on.';
comment on column analysis.cadence.why is 'Reason for the interval, in one sentence.';
comment on column analysis.cadence.decided_on is 'Run date of the night to which the decision applies.';
comment on column analysis.cadence.last_run_date is 'Run date of the newest answer to the query; null if the query has no answer.';
comment on column analysis.cadence.fetched_at is 'Time at which the newest answer to the query was received.';
comment on column analysis.cadence.search_id is 'Id of the newest answer to the query.';
