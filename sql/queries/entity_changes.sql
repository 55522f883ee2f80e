-- Which entities came and went on a day?
-- :day = (day of the run; empty: the newest)
select name, type, change, count(*) as queries, min(q) as example
from analysis.entity_changes
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
group by name, type, change
order by queries desc, name, change;
