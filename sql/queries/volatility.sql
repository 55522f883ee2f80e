-- Which queries changed the most or the least in the days up to a given day?
-- :order = most [most|least] (sort order: the largest or the smallest changes first)
-- :day = newest (the last day; newest: the newest full day)
-- :days = 30 (number of earlier days to include, if --since is not given)
-- :top = 20 (number of rows)
select
  queries.q, judged.changed, judged.compared, round(judged.volatility::numeric, 4) as volatility,
  round(judged.greatest::numeric, 4) as greatest, judged.run_date, analysis.variant_of(queries.id) as variant
from (
  select
    query_id, count(*) filter (where volatility > 0) as changed, count(*) as compared, avg(volatility) as volatility,
    max(volatility) as greatest, max(run_date) as run_date
  from analysis.step_days
  where volatility is not null
    and run_date between analysis.since(:day::date, :days::integer) and :day::date
  group by query_id
) as judged
join queries on queries.id = judged.query_id
order by
  case when :order = 'most' then -judged.volatility end,
  case when :order = 'least' then judged.changed::double precision / judged.compared end,
  judged.volatility, judged.compared desc, queries.q, variant
limit :top::integer;

-- show nights: How much did each night's answers change, and was the change unusual?
select
  nights.run_date, nights.queries, round(nights.volatility::numeric, 4) as volatility, round(nights.usual::numeric, 4) as usual,
  round(nights.z::numeric, 2) as z, nights.entered as entered_top_10, nights.left_top_10, nights.stayed as stayed_in_top_10
from analysis.volatility_nights as nights
where analysis.in_span(nights.run_date)
order by nights.run_date;

-- show labels: How volatile were the queries for each label, device, country and list on a day?
-- :day = newest (run date; newest: the newest full day)
select
  tag, queries, changed,
  round(volatility::numeric, 4) as volatility,
  round(weighted_volatility::numeric, 4) as weighted_volatility,
  round(spread::numeric, 4) as spread
from analysis.volatility_days
where run_date = :day::date
order by volatility desc, tag;

-- show weekdays: Are some days of the week more volatile than others?
select
  name as weekday,
  nights,
  round(volatility::numeric, 4) as volatility,
  round(elsewhere::numeric, 4) as elsewhere,
  round(standard_error::numeric, 4) as standard_error,
  abs(difference) >= 2 * standard_error as significant
from analysis.volatility_weekdays
order by volatility_weekdays.weekday;

-- show survival: For how many consecutive answers do pages stay in the top 10, including stays that have not ended?
select
  answers,
  round(survival::numeric, 3) as survival,
  round(low::numeric, 3) as low,
  round(high::numeric, 3) as high,
  at_risk, ended, lasting
from analysis.top_ten_survival
order by answers;
