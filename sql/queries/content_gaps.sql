-- Where does a rival stand in the first ten, and we nowhere in the first twenty?
-- :rows = 30 (how many)
select
  content_gaps.q, own_domain, domain, position, weight,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from analysis.content_gaps
join queries on queries.id = content_gaps.query_id
order by weight desc, content_gaps.q, position, domain, own_domain, variant
limit :rows::integer;
