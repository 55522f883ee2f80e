-- How few domains share the clicks of each label?
-- :day = newest (day of the run; newest: the newest full one)
select tag, domains, round(hhi::numeric, 4) as hhi
from analysis.concentration
where run_date = :day::date
order by hhi desc nulls last, tag;
