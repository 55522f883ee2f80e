-- Which domains get most clicks by estimate, and what would they cost in advertising?
-- :day = newest (day of the run; newest: the newest full one)
-- :rows = 20 (how many)
select
  domain,
  round(sum(estimated_clicks)::numeric, 1) as estimated_clicks,
  round(sum(estimated_value)::numeric, 2) as estimated_value,
  count(*) as queries,
  count(cpc) as priced_queries,
  min(curve) as curve
from analysis.estimated_traffic
where run_date = :day::date
group by domain
order by sum(estimated_clicks) desc, domain
limit :rows::integer;
