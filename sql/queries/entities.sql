-- Which entities do the answers of a day name most?
-- :day = (day of the run; empty: the newest)
-- :rows = 30 (how many)
select name, type, queries, weight
from analysis.entity_frequency
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
order by queries desc, name
limit :rows::integer;
