-- What do the answers to a query call related, and since when?
-- :q (text of the query)
select
  edges.related, edges.related_queries is not null as ours, edges.ordinal, edges.first_seen, edges.last_seen,
  edges.observations,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from analysis.related_edges as edges
join queries on queries.id = edges.query_id
where edges.q = :q
order by variant, edges.query_id, last_seen desc, ordinal, related;
