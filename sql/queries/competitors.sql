-- Who shows up where we do?
-- :rows = 20 (how many)
select own_domain, domain, shared, own_queries, queries, round(lift::numeric, 2) as lift, everywhere
from analysis.competitors
order by shared desc, lift desc, domain
limit :rows::integer;
