-- The last known answer to each query on a day, with the day that it is of: what a question over several lists may compare.
create or replace function analysis.known_on(day date, most_age integer default 31)
returns table (
  query_id uuid, run_date date, search_id bigint, depth integer, fetched_at timestamptz, origin text, api text
)
language sql stable parallel safe as $$
  -- The table of keywords of a finished day holds the same.
  select
    kept.query_id, kept.run_date, kept.search_id, kept.depth,
    -- Looked up one by one, where they are asked for: joined, all answers of all days would be read.
    (select searches.fetched_at from public.searches where searches.id = kept.search_id),
    (select searches.origin from public.searches where searches.id = kept.search_id),
    (select searches.api from public.searches where searches.id = kept.search_id)
  from public.finished_keywords as kept
  where kept.finish_id = (select analysis.keywords_kept(known_on.day, known_on.most_age))
    and kept.search_id is not null
  union all
  select found.query_id, found.run_date, found.search_id, found.depth, found.fetched_at, found.origin, found.api
  -- Worked out once, whatever the caller wrote for the day.
  from (select day as day, most_age as most_age offset 0) as asked
  cross join public.queries
  -- Mostly a query was asked on the day itself: these answers are read at once, and only others are looked for.
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
      -- In order before any is looked at: the newest run that holds the query is mostly the one.
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
        -- Kept apart, so that the day and the query go down into it.
        offset 0
      ) as seen
      order by earlier.run_date desc
      limit 1
    )
  ) as found
  -- A query that never belonged to the slice would be looked for in every run.
  where case when (select analysis.slice() is not null)
    then (queries.id in (
      select query_id from analysis.sliced_queries()
      union all
      select query_id from analysis.sliced_days()
    ))::integer
    else 1
  end <> 0
    and (select analysis.keywords_kept(known_on.day, known_on.most_age)) is null
$$;
comment on function analysis.known_on(date, integer) is 'Newest observation of each query on or before a day. The second argument is the number of days considered, including that day, 31 by default. run_date is the day of the observation.';
