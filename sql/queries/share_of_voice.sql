-- Which domains have the greatest share of voice on a day?
-- :day = newest (day of the run; newest: the newest full one)
-- :rows = 20 (how many)
select
  domain,
  round(share_of_voice::numeric, 4) as share_of_voice,
  round(visibility::numeric, 4) as visibility,
  ranked,
  queries
from analysis.share_of_voice
where tag = '*'
  and run_date = :day::date
order by share_of_voice desc nulls last, domain
limit :rows::integer;
