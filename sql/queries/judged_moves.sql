-- Which moves of a domain on a day are more than what their queries do every day?
-- :domain = (a domain; empty: ours)
-- :day = newest (day of the run; newest: the newest full one)
-- :rows = 20 (how many, the least likely first)
select
  q, domain, previous_position, position, change, places,
  as_great as earlier_as_great, earlier_moves, round(chance::numeric, 3) as chance, verdict,
  analysis.variant_of(query_id) as variant
from analysis.judged_moves(
  :day::date,
  case
    when :domain::text is null then array(
      select distinct domain
      from analysis.ours_on(:day::date)
    )
    else array[:domain]
  end
)
order by verdict = 'unknown', chance, places desc, q, variant, domain
limit :rows::integer;
