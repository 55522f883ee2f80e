-- Rows of analysis.steps for one day, computed without reading the other days.
create or replace function analysis.steps_on(night date)
returns table (
  query_id uuid, run_date date, search_id bigint, depth integer, fetched_at timestamptz, origin text, api text,
  previous_run_date date, previous_search_id bigint, previous_depth integer
)
language sql stable parallel safe as $$
  select
    now.query_id, now.run_date, now.search_id, now.depth, now.fetched_at, now.origin, now.api,
    before.run_date, before.search_id, before.depth
  -- Arguments are evaluated once, even if the caller passes an expression.
  from (select night as day offset 0) as asked
  cross join lateral (
    select *
    from analysis.observations
    where observations.run_date = asked.day
    offset 0
  ) as now
  left join lateral (
    select found.run_date, found.search_id, found.depth
    -- Runs are sorted before their tasks are read, because the previous run usually contains the required answer.
    from (
      select runs.id, runs.run_date
      from public.runs
      where runs.run_date < asked.day
        and runs.run_date not in (select away_days.run_date from analysis.away_days)
      order by runs.run_date desc
      offset 0
    ) as earlier
    cross join lateral (
      select
      from public.tasks
      where tasks.run_id = earlier.id
        and tasks.query_id = now.query_id
        and tasks.state in ('answered', 'reused')
      offset 0
    ) as task
    cross join lateral (
      select observations.*
      from analysis.observations
      where observations.query_id = now.query_id
        and observations.run_date = earlier.run_date
        and observations.origin = now.origin
        and observations.api = now.api
      -- "offset 0" keeps the subquery separate, so that the conditions on day and query are applied inside it.
      offset 0
    ) as found
    where found.evidence = 'bought'
      or analysis.is_step(found.query_id, found.run_date, found.evidence, found.fetched_at, found.origin, found.api)
    order by earlier.run_date desc
    limit 1
  ) as before on true
  -- Answers bought for the day are always included. Calling the function for these answers would double the cost.
  where now.evidence = 'bought'
    or analysis.is_step(now.query_id, now.run_date, now.evidence, now.fetched_at, now.origin, now.api)
$$;
comment on function analysis.steps_on(date) is 'Rows of analysis.steps for one day, computed without reading the other days.';
