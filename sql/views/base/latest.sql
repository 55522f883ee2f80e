-- Newest readable answer to each query, looked up in the index on searches.
create or replace view analysis.latest as
select
  queries.id as query_id,
  queries.q,
  newest.id as search_id,
  coalesce(newest.depth, 0) as depth,
  newest.fetched_at,
  newest.origin,
  newest.api,
  newest.intent,
  newest.sentiment,
  queries.location,
  queries.hl,
  queries.gl,
  queries.num,
  queries.device
from queries
-- This join makes one index lookup per query. The planner misestimates "distinct on" by a factor of ten, which leads
-- to bad plans.
cross join lateral (
  select *
  from searches
  where searches.query_id = queries.id
    and searches.parse_error is null
    and searches.origin = any ((select analysis.origins())::text[])
    and case when searches.archived then (searches.id in (select search_id from public.loaded_answers))::integer else 1 end <> 0
    -- This condition is evaluated once. If the quarantine is empty, no answers are looked up.
    and case when (select exists (select from public.quarantine) and not analysis.shows_suspects())
      then (searches.id not in (select search_id from public.quarantine))::integer
      else 1
    end <> 0
    and (
      not (select exists (select from runs where suspect) and not analysis.shows_suspects())
      or not exists (
        select
        from tasks
        join runs on runs.id = tasks.run_id
        where tasks.id = searches.task_id
          and runs.suspect
      )
    )
  order by searches.fetched_at desc, searches.id desc
  limit 1
) as newest
where case when (select analysis.slice() is not null)
    then (queries.id in (select query_id from analysis.queries_in_slice()))::integer
    else 1
  end <> 0;
comment on view analysis.latest is 'Newest readable answer to each query, from any day. Answers from suspect runs and quarantined answers are excluded, unless querymill.suspects is ''show''. Queries whose current labels do not match the current slice are excluded.';
comment on column analysis.latest.intent is 'Intent label of the answer.';
comment on column analysis.latest.sentiment is 'Sentiment label of the answer.';
