-- Which pages stayed in the first ten of a query, and for how long?
-- :q (text of the query)
select
  tenure.url_key as page, tenure.since, tenure.until, tenure.answers, tenure.best_position, tenure.worst_position,
  tenure.lasts,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from queries
-- Query by query, so that a question about one text does not read the answers to all.
cross join lateral (
  select *
  from analysis.tenure
  where tenure.query_id = queries.id
  offset 0
) as tenure
where lower(queries.q) = lower(analysis.canonical(:q))
order by variant, tenure.query_id, answers desc, best_position, page;
