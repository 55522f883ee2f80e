-- Outcomes of each list's queries in a period, by day, including nights on which nothing was bought.
create or replace function analysis.coverage_between(since date, until date)
returns table (
  run_date date, list text, planned bigint, answered bigint, bought bigint, reused bigint, unreadable bigint,
  failed bigint, unknown bigint, unaffordable bigint, cancelled bigint, open bigint, share double precision,
  newest timestamptz, oldest timestamptz, suspect bigint, other_origin bigint, not_asked bigint, archived bigint,
  outcome text, credits_spent bigint, why text
)
language sql stable parallel safe as $$
  select
    counted.run_date, lists.name, counted.planned, counted.answered, counted.bought, counted.reused, counted.unreadable,
    counted.failed, counted.unknown, counted.unaffordable, counted.cancelled, counted.open, counted.share, counted.newest,
    counted.oldest, counted.suspect, counted.other_origin, counted.not_asked, counted.archived,
    case when runs.cancelled then 'cancelled' when runs.going then 'going' else 'ran' end as outcome,
    runs.spent as credits_spent,
    nullif(concat_ws(
      '; ',
      runs.reasons,
      case when runs.cancelled then 'the run was cancelled' end,
      (
        select string_agg(case told.n when 1 then '1 ' || told.one else told.n || ' ' || told.many end, '; ' order by told.place)
        from (values
          (1, counted.unaffordable, 'query would have gone below the credit floor or over a budget',
            'queries would have gone below the credit floor or over a budget'),
          (2, counted.failed, 'query failed', 'queries failed'),
          (3, counted.unknown, 'call has an unknown outcome', 'calls have an unknown outcome'),
          (4, counted.unreadable, 'answer cannot be read', 'answers cannot be read'),
          (5, counted.other_origin, 'answer is of an origin that is not shown', 'answers are of an origin that is not shown'),
          (6, counted.archived, 'answer is in the archive', 'answers are in the archive'),
          (7, counted.open, 'query is open', 'queries are open')
        ) as told (place, n, one, many)
        where told.n > 0
      )
    ), '') as why
  from (
    select
      run_date,
      list_id,
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
      -- A query in several runs on one day is counted once, with its most informative state.
      select
        run_date, list_id, query_id,
        max(evidence) as evidence,
        max(fetched_at) as fetched_at,
        bool_or(broken) as broken,
        bool_or(archived) as archived,
        bool_and(suspect) as suspect,
        (array['answered', 'reused', 'not_asked', 'open', 'unknown', 'failed', 'unaffordable', 'cancelled'])[min(
          case state
            when 'answered' then 1 when 'reused' then 2 when 'not_asked' then 3 when 'open' then 4
            when 'unknown' then 5 when 'failed' then 6 when 'unaffordable' then 7 else 8
          end
        )] as state
      from (
        select
          runs.run_date, runs.list_id, tasks.query_id, tasks.state, observations.evidence, observations.fetched_at,
          coalesce(searches.parse_error is not null, false) as broken,
          runs.suspect or searches.id in (select search_id from public.quarantine) as suspect,
          runs.run_date in (select away_days.run_date from analysis.away_days)
            or coalesce(searches.archived and searches.id not in (select search_id from public.loaded_answers), false) as archived
        from public.tasks
        join public.runs on runs.id = tasks.run_id
        left join public.finished_days as finished on finished.run_date = runs.run_date and finished.made_at is not null
        left join analysis.observations
          on observations.query_id = tasks.query_id
          and observations.run_date = runs.run_date
          -- The period is repeated here, because the planner does not infer it from the condition on runs.run_date.
          and observations.run_date between since and until
        -- Answers are looked up only for queries without an observation.
        left join lateral (
          select searches.id, searches.parse_error, searches.archived
          from public.searches
          where searches.id = tasks.search_id
            and observations.query_id is null
          offset 0
        ) as searches on true
        where runs.run_date between since and until
          and case when (select analysis.slice() is not null)
            then (coalesce(
              (
                select kept.set_id
                from public.finished_queries as kept
                where kept.finish_id = finished.id
                  and kept.query_id = tasks.query_id
              ) = any ((select analysis.sets_in_slice())::bigint[]),
              (tasks.query_id, runs.run_date) in (select sliced.query_id, sliced.run_date from analysis.sliced_days() as sliced)
            ))::integer
            else 1
          end <> 0
      ) as held
      group by run_date, list_id, query_id
    ) as planned
    group by run_date, list_id
  ) as counted
  left join public.lists on lists.id = counted.list_id
  left join lateral (
    select
      sum(runs.spent)::bigint as spent,
      bool_and(runs.state = 'cancelled') as cancelled,
      bool_or(runs.state in ('planning', 'open')) as going,
      (
        select string_agg(distinct reason, '; ')
        from public.night_health
        cross join unnest(night_health.reasons) as reason
        where night_health.run_id = any (array_agg(runs.id) filter (where runs.suspect))
      ) as reasons
    from public.runs
    where runs.run_date = counted.run_date
      and runs.list_id = counted.list_id
  ) as runs on true
  union all
  select
    idle.run_date,
    idle.list,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, null, null, null, 0, 0, 0, 0,
    idle.outcome,
    0,
    idle.why
  from analysis.idle_nights as idle
  where idle.run_date between since and until
    and not (select analysis.slice() is not null)
$$;
comment on function analysis.coverage_between(date, date) is 'Rows of analysis.coverage for the days between two dates, inclusive. The data for other days is not read.';
