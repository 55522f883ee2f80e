-- Who has the greatest share of voice within each topic, on a day?
-- :day = (day of the run; empty: the newest)
select topic, domain, round(share_of_voice::numeric, 4) as share_of_voice, ranked, queries
from (
  select *, row_number() over (partition by topic order by share_of_voice desc nulls last, domain) as nth
  from analysis.topic_share
  where run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
) as ordered
where nth <= 3
order by topic, nth;
