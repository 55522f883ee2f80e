-- What did the answer to a query look like on a day?
-- :q (text of the query)
-- :day = (day of the run; empty: the newest)
select
  results.position, results.domain, results.title, results.url, results.fetched_at,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from analysis.results
join queries on queries.id = results.query_id
where results.q = :q
  and results.run_date = coalesce(:day::date, (select max(run_date) from analysis.observations where q = :q))
order by variant, results.query_id, results.ordinal;
