-- Reads the domains that gained clicks from a domain or lost clicks to the domain, largest amounts first. Parameters:
-- :domain, :since, :until (date).
select
  case when flows.loser = :domain then flows.taker else flows.loser end as domain,
  coalesce(sum(flows.clicks) filter (where flows.loser = :domain), 0) as taken,
  coalesce(sum(flows.clicks) filter (where flows.taker = :domain), 0) as won,
  count(distinct flows.query_id) as queries
from analysis.flows_between(:since::date, :until::date, array[:domain::text]) as flows
group by 1
order by sum(flows.clicks) desc, 1
limit 15;
