-- Where would a domain gain most by coming up to the third place?
-- :domain = (a domain; empty: ours)
-- :rows = 20 (how many)
select
  q, domain, position, weight, round(gain::numeric, 2) as gain,
  analysis.variant_of(striking_distance.query_id) as variant
from analysis.striking_distance
where case
  when :domain::text is null then domain in (
    select domain
    from analysis.ours_on(current_date)
  )
  else domain = :domain
end
order by gain desc, q, domain, variant
limit :rows::integer;
