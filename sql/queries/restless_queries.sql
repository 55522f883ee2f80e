-- Whose answers changed most on a day?
-- :day = newest (day of the run; newest: the newest full one)
-- :rows = 20 (how many)
select
  q, round(volatility::numeric, 4) as volatility, places, previous_run_date,
  analysis.variant_of(volatility.query_id) as variant
from analysis.volatility
where run_date = :day::date
order by volatility desc, q, variant
limit :rows::integer;
