-- Whose answers changed most on a day?
-- :day = (day of the run; empty: the newest)
-- :rows = 20 (how many)
select q, round(volatility::numeric, 4) as volatility, places, previous_run_date
from analysis.volatility
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
order by volatility desc, q
limit :rows::integer;
