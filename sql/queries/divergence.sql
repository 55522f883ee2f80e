-- How much do the answers to one text differ between devices and places?
-- :day = (day of the run; empty: the newest)
select q, variant, other_variant, shared, round(divergence::numeric, 2) as divergence
from analysis.serp_divergence
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
order by divergence desc, q, variant, other_variant;
