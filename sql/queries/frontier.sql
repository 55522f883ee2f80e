-- Which related texts did we never ask, by how many of our queries name them?
-- :rows = 30 (how many)
select q, sources, weight, example
from analysis.frontier
order by sources desc, weight desc, q
limit :rows::integer;
