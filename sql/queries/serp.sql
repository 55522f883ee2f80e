-- What did the answer to a query look like on a day, or the last one before it?
-- :q (text of the query)
-- :day = newest (day of the run; newest: the newest full one)
select
  results.run_date, results.position, results.domain, results.title, results.url, results.fetched_at,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from queries
cross join lateral (
  select max(run_date) as run_date
  from (
    select *
    from analysis.observations
    where observations.query_id = queries.id
      and observations.run_date <= :day::date
    offset 0
  ) as known
) as last
cross join lateral (
  select *
  from analysis.results
  where results.query_id = queries.id
    and results.run_date = last.run_date
  offset 0
) as results
where lower(queries.q) = lower(analysis.canonical(:q))
order by variant, results.query_id, results.ordinal;
