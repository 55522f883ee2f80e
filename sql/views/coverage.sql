-- What became of the queries of each list on each day.
create or replace view analysis.coverage as
select
  runs.run_date,
  lists.name as list,
  count(distinct tasks.query_id) as planned,
  count(distinct tasks.query_id) filter (where observations.query_id is not null) as answered,
  count(distinct tasks.query_id) filter (where observations.evidence = 'bought') as bought,
  count(distinct tasks.query_id) filter (where observations.evidence = 'reused') as reused,
  count(distinct tasks.query_id) filter (
    where observations.query_id is null and tasks.state in ('answered', 'reused')
  ) as unreadable,
  count(distinct tasks.query_id) filter (where observations.query_id is null and tasks.state = 'failed') as failed,
  count(distinct tasks.query_id) filter (where observations.query_id is null and tasks.state = 'unknown') as unknown,
  count(distinct tasks.query_id) filter (
    where observations.query_id is null and tasks.state = 'unaffordable'
  ) as unaffordable,
  count(distinct tasks.query_id) filter (where observations.query_id is null and tasks.state = 'cancelled') as cancelled,
  count(distinct tasks.query_id) filter (where observations.query_id is null and tasks.state = 'open') as open,
  count(distinct tasks.query_id) filter (where observations.query_id is not null)::double precision
    / nullif(count(distinct tasks.query_id), 0) as share,
  max(observations.fetched_at) as newest,
  min(observations.fetched_at) as oldest
from tasks
join runs on runs.id = tasks.run_id
left join lists on lists.id = runs.list_id
left join analysis.observations
  on observations.query_id = tasks.query_id
  and observations.run_date = runs.run_date
group by runs.run_date, lists.name;
comment on view analysis.coverage is 'What became of the queries of each list on each day: not in the results, not answered and not asked are three different things.';
comment on column analysis.coverage.planned is 'Queries that were to be asked.';
comment on column analysis.coverage.answered is 'Of these, queries with a readable answer for that day, of the chosen origins.';
comment on column analysis.coverage.bought is 'Answers bought for that day.';
comment on column analysis.coverage.reused is 'Older answers that were still young enough.';
comment on column analysis.coverage.unreadable is 'Answered, but not readable, or of another origin.';
comment on column analysis.coverage.failed is 'Ended with a verdict that will not change.';
comment on column analysis.coverage.unknown is 'Perhaps charged, never read.';
comment on column analysis.coverage.unaffordable is 'Left out, since the budget of the run was spent.';
comment on column analysis.coverage.cancelled is 'Left out, since the run was cancelled.';
comment on column analysis.coverage.open is 'Not done yet.';
comment on column analysis.coverage.share is 'Answered divided by planned, 0 to 1.';
comment on column analysis.coverage.newest is 'When the newest of these answers was received.';
comment on column analysis.coverage.oldest is 'When the oldest of them was received.';
