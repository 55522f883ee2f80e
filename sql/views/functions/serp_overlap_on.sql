-- Pairs of queries whose answers of one day show the same pages.
create or replace function analysis.serp_overlap_on(night date, least_shared integer default 1)
returns table (
  run_date date, query_id uuid, q text, other_query_id uuid, other_q text,
  shared integer, jaccard double precision
)
language sql stable parallel safe as $$
  with places as materialized (
    -- Country, device, place and language are part of what is shared, so that only answers of one kind meet.
    select distinct
      observations.query_id,
      hashtextextended(
        concat_ws(
          chr(31), coalesce(observations.gl, '-'), coalesce(observations.device, '-'),
          coalesce(observations.location, '-'), coalesce(observations.hl, '-'), pages.url_key
        ), 0
      ) as page
    from analysis.observations
    join public.organic_results on organic_results.search_id = observations.search_id
    join public.pages on pages.id = organic_results.page_id
    where observations.run_date = night
      and organic_results.position <= 10
  ),
  -- A page found in more than 200 answers alone makes no pair: a home page that is everywhere would pair everything.
  spread as materialized (
    select
      dense_rank() over (order by query_id)::integer as answer,
      query_id, page,
      count(*) over (partition by page) <= 200 as rare
    from places
  ),
  answers as materialized (
    select
      answer, query_id,
      count(*)::integer as size,
      array_agg(page) filter (where not rare) as common
    from spread
    group by answer, query_id
  ),
  pairs as materialized (
    select one.answer, other.answer as other_answer, count(*)::integer as shared
    from spread as one
    join spread as other on other.page = one.page and other.answer > one.answer
    where one.rare
      and other.rare
    group by one.answer, other.answer
  ),
  counted as (
    select
      one.query_id, other.query_id as other_query_id, one.size, other.size as other_size,
      pairs.shared + case
        when one.common is null or other.common is null then 0
        else (select count(*)::integer from unnest(one.common) as page where page = any (other.common))
      end as shared
    from pairs
    join answers as one on one.answer = pairs.answer
    join answers as other on other.answer = pairs.other_answer
  )
  select
    night, counted.query_id, queries.q, counted.other_query_id, other_queries.q,
    counted.shared,
    counted.shared::double precision / (counted.size + counted.other_size - counted.shared)
  from counted
  left join public.queries on queries.id = counted.query_id
  left join public.queries as other_queries on other_queries.id = counted.other_query_id
  where counted.shared >= least_shared
    -- One text with two numbers of results is no pair of queries.
    and queries.q <> other_queries.q
$$;
comment on function analysis.serp_overlap_on(date, integer) is 'Pairs of queries whose top 10 results of one day share pages, with the share of common pages. Both queries have the same country, device, place and language, and different texts. The result is exact, except that pairs which share only pages found in more than 200 answers of that day are missing.';
