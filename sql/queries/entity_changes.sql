-- Which entities came and went on a day?
-- :day = newest (day of the run; newest: the newest full one)
select name, type, change, count(*) as queries, min(q) as example
from analysis.entity_changes
where run_date = :day::date
group by name, type, change
order by queries desc, name, change;
