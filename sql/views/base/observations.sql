-- Newest readable answer to each query for each run date.
create or replace view analysis.observations as
select
  found.query_id,
  queries.q,
  found.run_date,
  found.search_id,
  found.depth,
  found.evidence,
  found.fetched_at,
  found.origin,
  found.api,
  found.intent,
  found.sentiment,
  queries.location,
  queries.hl,
  queries.gl,
  queries.num,
  queries.device
from (
  -- A query may have been bought for several lists on one day, and a task may have several answers.
  select distinct on (tasks.query_id, runs.run_date)
    tasks.query_id, runs.run_date, searches.id as search_id, coalesce(searches.depth, 0) as depth,
    case when reused.id is null then 'bought' when tasks.state = 'reused' then 'reused' else 'not asked' end as evidence,
    searches.fetched_at, searches.origin, searches.api, searches.intent, searches.sentiment
  from tasks
  join runs on runs.id = tasks.run_id
  left join searches as reused on reused.id = case when tasks.state in ('reused', 'not_asked') then tasks.search_id end
  -- One equality condition covers all kinds of evidence, so that the planner can estimate the row count.
  join searches
    on searches.task_id = coalesce(reused.task_id, tasks.id)
    -- If an answer was reused, the task that bought it may also have newer answers. The condition uses "<>" because
    -- the planner expects "<>" to be true for nearly all rows.
    and coalesce((searches.id = reused.id)::integer, 1) <> 0
  where searches.parse_error is null
    and (not runs.suspect or (select analysis.shows_suspects()))
    -- This condition is evaluated only once. If no answers are quarantined, no lookups are needed.
    and case when (select exists (select from public.quarantine) and not analysis.shows_suspects())
      then (searches.id not in (select search_id from public.quarantine))::integer
      else 1
    end <> 0
    and searches.origin = any ((select analysis.origins())::text[])
    -- Archived answers are excluded, because they have no results in the tables and would look empty.
    and case when searches.archived then (searches.id in (select search_id from public.loaded_answers))::integer else 1 end <> 0
    and case when (select exists (select from public.archived_days))
      then (runs.run_date not in (select away_days.run_date from analysis.away_days))::integer
      else 1
    end <> 0
    -- Without a slice, no labels are looked up. The planner expects "<>" to be true for nearly all rows.
    and case when (select analysis.slice() is not null)
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
  order by
    tasks.query_id, runs.run_date, searches.fetched_at desc, searches.id desc, tasks.state = 'not_asked', evidence
) as found
left join queries on queries.id = found.query_id;
comment on view analysis.observations is 'Newest readable answer to each query for each run date. If a query has no row, it was not asked or not answered on that day; analysis.coverage shows the reason. Days and answers in the archive are excluded. Answers from suspect runs and quarantined answers are excluded, unless querymill.suspects is ''show''. Queries outside the slice set by querymill.slice are excluded.';
comment on column analysis.observations.evidence is 'Source of the answer: bought (for that day), reused (an older answer that was recent enough) or not asked (the list or its cadence skipped the query that day, and the last answer is used). The fetched_at column shows how old the answer is.';
comment on column analysis.observations.intent is 'Intent label of the answer.';
comment on column analysis.observations.sentiment is 'Sentiment label of the answer.';
