-- How did the share of voice of our brands and of those of rivals go, day by day?
-- :brand = (a brand; empty: all)
select
  run_date, brand, ours,
  round(share_of_voice::numeric, 4) as share_of_voice,
  top_3, top_10, ranked, queries
from analysis.brand_share
where tag = '*'
  and analysis.in_span(run_date)
  and (:brand::text is null or lower(brand) = lower(:brand))
order by brand, ours, run_date;
