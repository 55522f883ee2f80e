-- How much do the answers to one text differ between devices and places?
-- :day = newest (day of the run; newest: the newest full one)
select q, variant, other_variant, shared, round(divergence::numeric, 2) as divergence
from analysis.serp_divergence
where run_date = :day::date
order by divergence desc, q, variant, other_variant;
