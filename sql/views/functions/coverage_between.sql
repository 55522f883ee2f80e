-- Outcomes of each list's queries in a period, by day, including nights on which nothing was bought.
create or replace function analysis.coverage_between(since date, until date)
returns table (
  run_date date, list text, planned bigint, answered bigint, bought bigint, reused bigint, unreadable bigint,
  failed bigint, unknown bigint, unaffordable bigint, cancelled bigint, open bigint, share double precision,
  newest timestamptz, oldest timestamptz, suspect bigint, other_origin bigint, not_asked bigint, archived bigint,
  outcome text, credits_spent bigint, why text
)
language sql stable parallel safe as $$
  -- Days in the period, with the id of the stored outcomes if these can be used.
  with days as materialized (
    select
      asked.run_date,
      case
        -- An answer that was bought for another day may be archived or loaded since.
        when not exists (select from public.archived_days)
          or not exists (
            select
            from public.finished_outcomes as kept
            where kept.finish_id = asked.finish_id
              and kept.outcome in ('reused', 'not asked', 'archived')
          )
          then asked.finish_id
      end as finish_id
    from (
      select of_runs.run_date, analysis.finished_on(of_runs.run_date) as finish_id
      from (select distinct runs.run_date from public.runs where runs.run_date between since and until) as of_runs
      offset 0
    ) as asked
  )
  select
    counted.run_date, lists.name, counted.planned, counted.answered, counted.bought, counted.reused, counted.unreadable,
    counted.failed, counted.unknown, counted.unaffordable, counted.cancelled, counted.open,
    counted.answered::double precision / counted.planned, counted.newest,
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
      sum(queries)::bigint as planned,
      coalesce(sum(queries) filter (where outcome in ('bought', 'reused', 'not asked')), 0)::bigint as answered,
      coalesce(sum(queries) filter (where outcome = 'bought'), 0)::bigint as bought,
      coalesce(sum(queries) filter (where outcome = 'reused'), 0)::bigint as reused,
      coalesce(sum(queries) filter (where outcome = 'not asked'), 0)::bigint as not_asked,
      coalesce(sum(queries) filter (where outcome = 'unreadable'), 0)::bigint as unreadable,
      coalesce(sum(queries) filter (where outcome = 'failed'), 0)::bigint as failed,
      coalesce(sum(queries) filter (where outcome = 'unknown'), 0)::bigint as unknown,
      coalesce(sum(queries) filter (where outcome = 'unaffordable'), 0)::bigint as unaffordable,
      coalesce(sum(queries) filter (where outcome = 'cancelled'), 0)::bigint as cancelled,
      coalesce(sum(queries) filter (where outcome = 'open'), 0)::bigint as open,
      coalesce(sum(queries) filter (where outcome = 'suspect'), 0)::bigint as suspect,
      coalesce(sum(queries) filter (where outcome = 'other origin'), 0)::bigint as other_origin,
      coalesce(sum(queries) filter (where outcome = 'archived'), 0)::bigint as archived,
      max(newest) as newest,
      min(oldest) as oldest
    from (
      select days.run_date, kept.list_id, kept.outcome, kept.queries, kept.newest, kept.oldest
      from days
      join public.finished_outcomes as kept on kept.finish_id = days.finish_id
      where case when (select analysis.slice() is not null)
        then (kept.set_id = any ((select analysis.sets_in_slice())::bigint[]))::integer
        else 1
      end <> 0
      union all
      select live.*
      from days
      -- "offset 0" keeps the subquery separate, so that the condition on the day is applied inside it.
      cross join lateral (
        select found.run_date, found.list_id, found.outcome, count(*), max(found.fetched_at), min(found.fetched_at)
        from analysis.outcomes_between(days.run_date, days.run_date) as found
        group by found.run_date, found.list_id, found.outcome
        offset 0
      ) as live
      where days.finish_id is null
    ) as outcomes
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
