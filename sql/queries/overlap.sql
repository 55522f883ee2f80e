-- Which queries show the same pages on a day?
-- :day = (day of the run; empty: the newest)
-- :shared = 4 (least number of common pages among the first ten)
-- :rows = 50 (how many)
select q, other_q, shared, round(jaccard::numeric, 2) as jaccard
from analysis.serp_overlap_on(
  coalesce(:day::date, (select max(run_date) from analysis.observations)),
  :shared::integer
)
order by shared desc, jaccard desc, q, other_q
limit :rows::integer;
