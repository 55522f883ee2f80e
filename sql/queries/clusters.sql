-- Which queries belong together, since they share pages?
-- :day = (day of the run; empty: the newest)
-- :shared = 4 (least number of common pages among the first ten)
select cluster, size, q, weight
from analysis.keyword_clusters_on(
  coalesce(:day::date, (select max(run_date) from analysis.observations)),
  :shared::integer
)
order by size desc, cluster, weight desc nulls last, q;
