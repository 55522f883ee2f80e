-- Which moves of a domain were the greatest between two days?
-- :domain = (a domain; empty: ours)
-- :day = newest (the later day; newest: the newest full one)
-- :days = 7 (how many days before it the other one is, where --since names none)
-- :rows = 20 (how many)
select
  moves.q, moves.domain, moves.previous_position, moves.position, moves.change, moves.places,
  moves.previous_run_date, moves.run_date, analysis.variant_of(moves.query_id) as variant
from analysis.movers_between(analysis.since(:day::date, :days::integer), :day::date) as moves
where moves.change <> 'same'
  -- As a list that is known before: so it goes down to the rows of these domains.
  and moves.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then moves.domain in (
      select domain
      from analysis.ours_on(:day::date)
    )
    else moves.domain = :domain
  end
order by moves.places desc, moves.q, variant, moves.domain
limit :rows::integer;
