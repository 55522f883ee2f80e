-- Pairs of queries whose answers share pages on one day.
create or replace function analysis.serp_overlap_on(night date, least_shared integer default 1)
returns table (
  run_date date, query_id uuid, q text, other_query_id uuid, other_q text,
  shared integer, jaccard double precision
)
language sql stable parallel safe as $$
  with asked as materialized (
    select
      observations.query_id, observations.search_id,
      -- The key includes country, device, place and language, so only answers with the same parameters are paired.
      hashtextextended(
        concat_ws(
          chr(31), coalesce(observations.gl, '-'), coalesce(observations.device, '-'),
          coalesce(observations.location, '-'), coalesce(observations.hl, '-')
        ), 0
      ) as kind
    from analysis.observations
    where observations.run_date = night
  ),
  -- Pages found in more than 200 answers are ignored, because a home page that appears everywhere
  -- would pair all queries.
  spread as materialized (
    select
      asked.query_id, asked.search_id, asked.kind # held.page as page,
      count(*) over (partition by asked.kind # held.page) as answers
    from asked
    cross join lateral analysis.pages_in(asked.search_id) as held
  ),
  answers as materialized (
    select
      query_id, search_id,
      count(*)::integer as size,
      array_agg(page) filter (where answers > 200) as common
    from spread
    group by query_id, search_id
  ),
  pairs as materialized (
    select one.search_id, other.search_id as other_search_id, count(*)::integer as shared
    from spread as one
    join spread as other on other.page = one.page and other.query_id > one.query_id
    where one.answers between 2 and 200
      and other.answers between 2 and 200
    group by one.search_id, other.search_id
    -- The pages that are ignored above may make up the difference.
    having count(*) + (select coalesce(max(cardinality(common)), 0) from answers) >= serp_overlap_on.least_shared
  ),
  counted as (
    select
      one.query_id, other.query_id as other_query_id, one.size, other.size as other_size,
      pairs.shared + case
        when one.common is null or other.common is null then 0
        else (select count(*)::integer from unnest(one.common) as page where page = any (other.common))
      end as shared
    from pairs
    join answers as one on one.search_id = pairs.search_id
    join answers as other on other.search_id = pairs.other_search_id
  )
  select
    -- As a subquery, because an expression that the caller passes would be computed again for each row.
    (select night), counted.query_id, queries.q, counted.other_query_id, other_queries.q,
    counted.shared,
    counted.shared::double precision / (counted.size + counted.other_size - counted.shared)
  from counted
  left join public.queries on queries.id = counted.query_id
  left join public.queries as other_queries on other_queries.id = counted.other_query_id
  where counted.shared >= least_shared
    and queries.q <> other_queries.q
$$;
comment on function analysis.serp_overlap_on(date, integer) is 'Pairs of queries whose top 10 results on one day share pages, with the share of common pages. Both queries have the same country, device, place and language, but different texts. Pairs that share only pages found in more than 200 answers on that day are excluded.';
