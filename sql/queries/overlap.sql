-- Which queries show the same pages on a day?
-- :day = newest (day of the run; newest: the newest full one)
-- :shared = 4 (least number of common pages among the first ten)
-- :rows = 50 (how many)
select
  q, other_q, shared, round(jaccard::numeric, 2) as jaccard,
  analysis.variant_of(query_id) as variant, analysis.variant_of(other_query_id) as other_variant
from analysis.serp_overlap_on(
  :day::date,
  :shared::integer
)
order by shared desc, jaccard desc, q, other_q, variant, other_variant
limit :rows::integer;
