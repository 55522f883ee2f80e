-- Which queries belong together, since they share pages?
-- :day = newest (day of the run; newest: the newest full one)
-- :shared = 4 (least number of common pages among the first ten)
select
  clusters.cluster, clusters.size, clusters.q, clusters.weight,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
  clusters.cluster_id
from analysis.keyword_clusters_on(
  :day::date,
  :shared::integer
) as clusters
join queries on queries.id = clusters.query_id
order by size desc, cluster, cluster_id, weight desc nulls last, q, variant;
