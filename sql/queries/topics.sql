-- Who has the greatest share of voice within each topic, on a day?
-- :day = newest (day of the run; newest: the newest full one)
select topic, domain, round(share_of_voice::numeric, 4) as share_of_voice, ranked, queries
from (
  select *, row_number() over (partition by topic order by share_of_voice desc nulls last, domain) as nth
  from analysis.topic_share
  where run_date = :day::date
) as ordered
where nth <= 3
order by topic, nth;
