-- Where does a rival stand in the first ten, and we nowhere in the first twenty?
-- :rows = 30 (how many)
select
  q, own_domain, domain, position, weight,
  analysis.variant_of(content_gaps.query_id) as variant
from analysis.content_gaps
order by weight desc, q, position, domain, own_domain, variant
limit :rows::integer;
