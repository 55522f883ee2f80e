-- How few domains share the clicks of each label?
-- :day = (day of the run; empty: the newest)
select tag, domains, round(hhi::numeric, 4) as hhi
from analysis.concentration
where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
order by hhi desc nulls last, tag;
