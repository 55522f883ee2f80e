-- Which intents and sentiments do the answers of a day carry?
-- :tag = * (label; * is every query)
-- :day = (day of the run; empty: the newest)
select kind, label, queries, round(share::numeric, 3) as share
from analysis.label_mix
where tag = :tag
  and run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
order by kind, share desc nulls last, label;
