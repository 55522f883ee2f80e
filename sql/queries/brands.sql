-- How do the brands stand beside each other on a day, ours and those of rivals?
-- :day = newest (day of the run; newest: the newest full one)
select
  brand, ours,
  round(share_of_voice::numeric, 4) as share_of_voice,
  round(visibility::numeric, 4) as visibility,
  top_3, top_10, ranked, queries
from analysis.brand_share
where tag = '*'
  and run_date = :day::date
order by share_of_voice desc nulls last, brand, ours;
