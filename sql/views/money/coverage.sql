-- What became of the queries of each list on each day, and of the nights on which nothing was bought.
create or replace view analysis.coverage as
select
  counted.*,
  case when runs.cancelled then 'cancelled' when runs.going then 'going' else 'ran' end as outcome,
  runs.spent as credits_spent,
  nullif(concat_ws(
    '; ',
    runs.reasons,
    case when runs.cancelled then 'the run was cancelled' end,
    case when counted.unaffordable > 0
      then counted.unaffordable || ' queries would have gone below the credit floor or over a budget' end,
    case when counted.failed > 0 then counted.failed || ' queries failed' end,
    case when counted.unknown > 0 then counted.unknown || ' calls have an unknown outcome' end,
    case when counted.unreadable > 0 then counted.unreadable || ' answers cannot be read' end,
    case when counted.other_origin > 0 then counted.other_origin || ' answers are of an origin that is not shown' end,
    case when counted.archived > 0 then counted.archived || ' answers are in the archive' end,
    case when counted.open > 0 then counted.open || ' queries are open' end
  ), '') as why
from (
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
    count(*) filter (where evidence is null and state in ('answered', 'reused', 'not_asked') and not broken and not archived and not suspect) as other_origin,
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
        coalesce(searches.parse_error is not null, false) as broken,
        runs.suspect or searches.id in (select search_id from public.quarantine) as suspect,
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
        then (coalesce(
          (
            select kept.set_id
            from public.finished_days
            join public.finished_queries as kept on kept.finish_id = finished_days.id
            where finished_days.made_at is not null
              and finished_days.run_date = runs.run_date
              and kept.query_id = tasks.query_id
          ) = any ((select analysis.sets_in_slice())::bigint[]),
          (tasks.query_id, runs.run_date) in (select sliced.query_id, sliced.run_date from analysis.sliced_days() as sliced)
        ))::integer
        else 1
      end <> 0
    ) as held
    group by run_date, list, query_id, ranking
  ) as planned
  group by run_date, list
) as counted
left join lateral (
  select
    sum(runs.spent)::bigint as spent,
    bool_and(runs.state = 'cancelled') as cancelled,
    bool_or(runs.state in ('planning', 'open')) as going,
    (
      select string_agg(distinct reason, '; ')
      from night_health
      cross join unnest(night_health.reasons) as reason
      where night_health.run_id = any (array_agg(runs.id) filter (where runs.suspect))
    ) as reasons
  from runs
  join lists on lists.id = runs.list_id
  where runs.run_date = counted.run_date
    and lists.name = counted.list
) as runs on true
union all
select
  nights.run_date,
  coalesce(schedules.list, nights.schedule),
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, null, null, null, 0, 0, 0, 0,
  nights.outcome,
  0,
  coalesce(nights.note, 'the night was ' || nights.outcome)
from nights
left join schedules on schedules.name = nights.schedule
where nights.outcome in ('missed', 'skipped', 'failed')
  and nights.run_id is null
  and not (select analysis.slice() is not null)
  and not exists (
    select
    from runs
    join lists on lists.id = runs.list_id
    where runs.run_date = nights.run_date
      and lists.name = coalesce(schedules.list, nights.schedule)
  );
comment on view analysis.coverage is 'Outcome of the queries of each list on each day. It tells "not ranked" from "not answered" and "not asked". A query in several runs of a day counts once, with the first of these outcomes that applies: answered, unreadable, archived, suspect, other_origin, open, unknown, failed, unaffordable, cancelled. Reused answers, and last answers of queries that were not asked, count as answered.';
comment on column analysis.coverage.planned is 'Number of queries planned for the day, including those not asked.';
comment on column analysis.coverage.answered is 'Number of planned queries with a readable answer of the selected origins: bought, reused, or the last answer of a query that was not asked.';
comment on column analysis.coverage.bought is 'Number of queries with an answer bought for the day.';
comment on column analysis.coverage.reused is 'Number of queries with an older answer that was recent enough to be reused.';
comment on column analysis.coverage.unreadable is 'Number of queries with an unusable answer: its body cannot be read, the API refused the query and charged for it, or it answers another query.';
comment on column analysis.coverage.suspect is 'Number of queries whose answer is excluded because its run is suspect or the answer is quarantined.';
comment on column analysis.coverage.other_origin is 'Number of queries whose answer has an origin that the views do not show.';
comment on column analysis.coverage.archived is 'Number of queries whose answer is in the archive and therefore excluded.';
comment on column analysis.coverage.failed is 'Number of queries that failed permanently.';
comment on column analysis.coverage.unknown is 'Number of queries with an unknown outcome: possibly charged, and never read.';
comment on column analysis.coverage.unaffordable is 'Number of queries not bought because they would have gone below the credit floor or over a budget.';
comment on column analysis.coverage.cancelled is 'Number of queries not bought because the run was cancelled.';
comment on column analysis.coverage.open is 'Number of queries not finished yet.';
comment on column analysis.coverage.share is 'Fraction of planned queries that were answered, 0 to 1.';
comment on column analysis.coverage.newest is 'Time at which the newest answer used for the day was received.';
comment on column analysis.coverage.oldest is 'Time at which the oldest answer used for the day was received.';
comment on column analysis.coverage.not_asked is 'Number of queries that the list or its cadence skipped. Their last answers are used, at no cost.';
comment on column analysis.coverage.outcome is 'Outcome of the day: ran, going or cancelled; for a night without a run, missed, skipped or failed.';
comment on column analysis.coverage.credits_spent is 'Credits used by the runs of the day. A call of unknown cost counts with its reservation.';
comment on column analysis.coverage.why is 'Reason for missing answers, or for the exclusion of the night from shares and trends; null if nothing is missing.';
