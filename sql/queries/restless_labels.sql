-- How restless were the queries of each label, device, country and list on a day?
-- :day = newest (day of the run; newest: the newest full one)
select
  tag, queries, changed,
  round(volatility::numeric, 4) as volatility,
  round(weighted_volatility::numeric, 4) as weighted_volatility,
  round(spread::numeric, 4) as spread
from analysis.volatility_days
where run_date = :day::date
order by volatility desc, tag;
