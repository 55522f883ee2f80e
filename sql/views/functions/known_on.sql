-- Last known answer to each query on a day, so that days on which different lists were bought can be compared.
create or replace function analysis.known_on(day date, most_age integer default 31)
returns table (
  query_id uuid, run_date date, search_id bigint, depth integer, fetched_at timestamptz, origin text, api text
)
language sql stable parallel safe as $$
  -- Answers for a finished day are read from the stored keywords.
  select kept.query_id, kept.run_date, kept.search_id, kept.depth, kept.fetched_at, kept.origin, kept.api
  from public.finished_keywords as kept
  where kept.finish_id = (select analysis.keywords_kept(known_on.day, known_on.most_age))
    and kept.search_id is not null
    -- Stored rows are used only for queries that were always in the slice. For other queries, the last answer within the
    -- slice may be older.
    and case when (select analysis.slice() is not null)
      then (kept.query_id in (select query_id from analysis.sliced_queries() where always))::integer
      else 1
    end <> 0
  union all
  select found.query_id, found.run_date, found.search_id, found.depth, found.fetched_at, found.origin, found.api
  -- Arguments are evaluated once, even if the caller passes an expression.
  from (select day as day, most_age as most_age offset 0) as asked
  cross join public.queries
  -- Most answers are from the given day and are read together; all other answers are looked up
  -- individually.
  left join lateral (
    select *
    from analysis.observations
    where observations.run_date = asked.day
    offset 0
  ) as own on own.query_id = queries.id
  cross join lateral (
    select own.query_id, own.run_date, own.search_id, own.depth, own.fetched_at, own.origin, own.api
    where own.query_id is not null
    union all
    (
      select seen.query_id, seen.run_date, seen.search_id, seen.depth, seen.fetched_at, seen.origin, seen.api
      -- Runs are sorted before their tasks are read, because the newest run usually contains the required answer.
      from (
        select runs.id, runs.run_date
        from public.runs
        where own.query_id is null
          and runs.run_date < asked.day
          and runs.run_date > asked.day - asked.most_age
          and runs.run_date not in (select away_days.run_date from analysis.away_days)
        order by runs.run_date desc
        offset 0
      ) as earlier
      cross join lateral (
        select
        from public.tasks
        where tasks.run_id = earlier.id
          and tasks.query_id = queries.id
          and tasks.state in ('answered', 'reused', 'not_asked')
        offset 0
      ) as task
      cross join lateral (
        select observations.*
        from analysis.observations
        where observations.query_id = queries.id
          and observations.run_date = earlier.run_date
        -- "offset 0" keeps the subquery separate, so that the conditions on day and query are applied inside it.
        offset 0
      ) as seen
      order by earlier.run_date desc
      limit 1
    )
  ) as found
  -- Without this condition, a query that never belonged to the slice would be looked up in every run.
  where case when (select analysis.slice() is not null)
    then (queries.id in (
      select query_id
      from analysis.sliced_queries()
      where not always
        or (select analysis.keywords_kept(known_on.day, known_on.most_age)) is null
      union all
      select query_id
      from analysis.sliced_days()
      where (select analysis.keywords_kept(known_on.day, known_on.most_age)) is null
    ))::integer
    else 1
  end <> 0
    and (
      (select analysis.keywords_kept(known_on.day, known_on.most_age)) is null
      or (select exists (select from analysis.sliced_queries() where not always))
    )
$$;
comment on function analysis.known_on(date, integer) is 'Newest observation of each query on or before a day. The second argument is the number of days considered, including that day, 31 by default. run_date is the day of the observation.';
