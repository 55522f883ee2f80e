-- Which entities stand together more often than chance would have it?
-- :rows = 30 (how many)
select name, other_name, together, queries, other_queries, round(npmi::numeric, 3) as npmi
from analysis.entity_pairs
order by npmi desc, together desc, name, other_name
limit :rows::integer;
