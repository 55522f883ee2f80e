-- Reads the newest answers to the given queries, each with the domain at a given position. Parameters: :queries
-- (uuid[]), :positions (bigint[]), :since, :until (date).
select
  newest.query_id as "queryId", newest.run_date as "runDate", newest.search_id as search, newest.depth, (
    select (array_agg(shown.domain order by shown.ordinal))[1]
    from public.result_domains as shown
    where shown.search_id = newest.search_id
      and shown.position = places.position
  ) as taker
from unnest(
  :queries::uuid[], :positions::bigint[]
) as places (query_id, position)
cross join lateral (
  select *
  from analysis.observations
  where observations.query_id = places.query_id
    and observations.run_date between :since::date and :until::date
  order by observations.run_date desc
  limit 1
) as newest;
