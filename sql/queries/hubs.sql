-- Which heavier query could stand for each query, since they share pages?
select
  hubs.hub, hubs.q, hubs.weight, hubs.shared,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
  analysis.variant(others.device, others.location, others.hl, others.gl, others.num) as hub_variant
from analysis.keyword_hubs as hubs
join queries on queries.id = hubs.query_id
join queries as others on others.id = hubs.hub_query_id
order by hub, hub_variant, hubs.hub_query_id, weight desc nulls last, q, variant;
