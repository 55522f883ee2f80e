-- What became of the queries of each list on each day.
create or replace view analysis.coverage as
select
  run_date,
  list,
  count(*) as planned,
  count(evidence) as answered,
  count(*) filter (where evidence = 'bought') as bought,
  count(*) filter (where evidence = 'reused') as reused,
  count(*) filter (where evidence is null and state in ('answered', 'reused', 'not_asked') and broken) as unreadable,
  count(*) filter (where evidence is null and state = 'failed') as failed,
  count(*) filter (where evidence is null and state = 'unknown') as unknown,
  count(*) filter (where evidence is null and state = 'unaffordable') as unaffordable,
  count(*) filter (where evidence is null and state = 'cancelled') as cancelled,
  count(*) filter (where evidence is null and state = 'open') as open,
  count(evidence)::double precision / nullif(count(*), 0) as share,
  max(fetched_at) as newest,
  min(fetched_at) as oldest,
  count(*) filter (where evidence is null and state in ('answered', 'reused', 'not_asked') and not broken and not archived and suspect) as suspect,
  count(*) filter (where evidence is null and state in ('answered', 'reused', 'not_asked') and not broken and not archived and not suspect) as hidden,
  count(*) filter (where evidence = 'not asked') as not_asked,
  count(*) filter (where evidence is null and state in ('answered', 'reused', 'not_asked') and not broken and archived) as archived
from (
  -- Several runs of one day may hold a query, in several states: it counts once, by the one that says most.
  select
    run_date, list, query_id,
    max(evidence) as evidence,
    max(fetched_at) as fetched_at,
    bool_or(broken) as broken,
    bool_or(archived) as archived,
    bool_and(suspect) as suspect,
    ranking[min(array_position(ranking, state))] as state
  from (
    select
      runs.run_date, lists.name as list, tasks.query_id, tasks.state, observations.evidence, observations.fetched_at,
      coalesce(searches.parse_error is not null, false) as broken, runs.suspect or searches.id in (select search_id from public.quarantine) as suspect,
      runs.run_date in (select away_days.run_date from analysis.away_days)
        or coalesce(searches.archived and searches.id not in (select search_id from public.loaded_answers), false) as archived,
      array['answered', 'reused', 'not_asked', 'open', 'unknown', 'failed', 'unaffordable', 'cancelled'] as ranking
    from tasks
    join runs on runs.id = tasks.run_id
    left join lists on lists.id = runs.list_id
    left join searches on searches.id = tasks.search_id
    left join analysis.observations
      on observations.query_id = tasks.query_id
      and observations.run_date = runs.run_date
    where case when (select analysis.slice() is not null)
      then analysis.in_slice(tasks.query_id, runs.run_date)::integer
      else 1
    end <> 0
  ) as held
  group by run_date, list, query_id, ranking
) as planned
group by run_date, list;
comment on view analysis.coverage is 'What became of the queries of each list on each day: not in the results, not answered and not asked are three different things. A query that several runs of a day hold counts once, by the first of these: answered (bought, reused, or not asked with its last answer standing in), unreadable, open, unknown, failed, unaffordable, cancelled.';
comment on column analysis.coverage.planned is 'Queries that the list held that day, those that it let rest among them.';
comment on column analysis.coverage.answered is 'Of these, queries with a readable answer for that day, of the chosen origins: bought, reused, or the last one of a query that was not asked.';
comment on column analysis.coverage.bought is 'Answers bought for that day.';
comment on column analysis.coverage.reused is 'Older answers that were still young enough.';
comment on column analysis.coverage.unreadable is 'Answered, but not with results: the body cannot be read, the API refused the query and charged for it, or it answers another query.';
comment on column analysis.coverage.suspect is 'Answered in a suspect night, or quarantined for itself, and left out for that.';
comment on column analysis.coverage.hidden is 'Answered, but of an origin that the views do not show.';
comment on column analysis.coverage.archived is 'Answered, and in the archive: left out here.';
comment on column analysis.coverage.failed is 'Ended with a verdict that will not change.';
comment on column analysis.coverage.unknown is 'Perhaps charged, never read.';
comment on column analysis.coverage.unaffordable is 'Left out, since the budget of the run was spent.';
comment on column analysis.coverage.cancelled is 'Left out, since the run was cancelled.';
comment on column analysis.coverage.open is 'Not done yet.';
comment on column analysis.coverage.share is 'Answered divided by planned, 0 to 1.';
comment on column analysis.coverage.newest is 'When the newest of these answers was received.';
comment on column analysis.coverage.oldest is 'When the oldest of them was received.';
comment on column analysis.coverage.not_asked is 'Queries that the list or its cadence let rest: their last answers stand in, and cost nothing.';
