-- Which queries change least, so that they might be asked less often?
-- :rows = 20 (how many)
select
  max(q) as q,
  count(*) filter (where volatility > 0) as changed,
  count(*) as compared,
  round(avg(volatility)::numeric, 4) as volatility,
  max(run_date) as run_date,
  analysis.variant_of(query_id) as variant
from analysis.volatility
where analysis.in_span(run_date)
group by query_id
order by avg((volatility > 0)::integer), avg(volatility), count(*) desc, q, variant
limit :rows::integer;
