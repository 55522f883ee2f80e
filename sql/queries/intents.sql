-- Which intents and sentiments do the answers of a day carry?
-- :day = newest (day of the run; newest: the newest full one)
select kind, label, queries, round(share::numeric, 3) as share
from analysis.label_mix
where tag = '*'
  and run_date = :day::date
order by kind, share desc nulls last, label;
