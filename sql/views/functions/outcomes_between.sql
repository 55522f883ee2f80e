-- Outcome of each list's queries in a period, by day, computed from the tasks.
create or replace function analysis.outcomes_between(since date, until date)
returns table (run_date date, list_id bigint, query_id uuid, outcome text, fetched_at timestamptz)
language sql stable parallel safe as $$
  select
    run_date, list_id, query_id,
    case
      when evidence is not null then evidence
      when state not in ('answered', 'reused', 'not_asked') then state
      when broken then 'unreadable'
      when archived then 'archived'
      when suspect then 'suspect'
      else 'other origin'
    end,
    fetched_at
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
$$;
comment on function analysis.outcomes_between(date, date) is 'Outcome of each query on each day and in each list, for the days between two dates, inclusive. outcome is the evidence in analysis.observations if the query has an answer, or the reason why it has none.';
