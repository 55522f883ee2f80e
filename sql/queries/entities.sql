-- Which entities do the answers of a day name most?
-- :day = newest (day of the run; newest: the newest full one)
-- :rows = 30 (how many)
select name, type, queries, weight
from analysis.entity_frequency
where run_date = :day::date
order by queries desc, name
limit :rows::integer;
