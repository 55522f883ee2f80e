-- Which pages stayed in the first ten of a query, and for how long?
-- :q (text of the query)
select
  tenure.url_key as page, tenure.since, tenure.until, tenure.answers, tenure.best_position, tenure.worst_position,
  tenure.lasts,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from analysis.tenure
join queries on queries.id = tenure.query_id
where tenure.q = :q
order by variant, tenure.query_id, answers desc, best_position, page;
