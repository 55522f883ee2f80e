-- How often each query of an adaptive list is asked, why, and when next.
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
comment on view analysis.cadence is 'How often each query of a list with an adaptive schedule is asked, why, and when next: the newest decision. A query that is not here is asked every night. A wish of the list (every) goes before it.';
comment on column analysis.cadence.list is 'Name of the list.';
comment on column analysis.cadence.interval_days is 'Days from one asking to the next.';
comment on column analysis.cadence.due_on is 'Run date from which on it is asked next.';
comment on column analysis.cadence.by_chance is 'True when it was drawn by chance to be asked in the night that was decided, although it could rest.';
comment on column analysis.cadence.why is 'Why, in a sentence.';
comment on column analysis.cadence.decided_on is 'The night that was decided.';
comment on column analysis.cadence.last_run_date is 'Day of its newest answer; null: there is none.';
comment on column analysis.cadence.fetched_at is 'When its newest answer was received.';
comment on column analysis.cadence.search_id is 'Its newest answer.';
