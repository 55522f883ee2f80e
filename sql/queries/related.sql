-- What do the answers to a query call related, and since when?
-- :q (text of the query)
select
  edges.related, edges.related_queries is not null as ours, edges.ordinal, edges.first_seen, edges.last_seen,
  edges.observations,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from queries
-- Query by query, so that a question about one text does not read the answers to all.
cross join lateral (
  select *
  from analysis.related_edges
  where related_edges.query_id = queries.id
  offset 0
) as edges
where lower(queries.q) = lower(analysis.canonical(:q))
order by variant, edges.query_id, last_seen desc, ordinal, related;
