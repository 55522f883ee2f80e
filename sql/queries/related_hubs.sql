-- Which texts do most of our queries lead to?
-- :rows = 30 (how many)
select q, in_degree, out_degree, reciprocal, component, component_size
from analysis.related_nodes
order by in_degree desc, q
limit :rows::integer;
