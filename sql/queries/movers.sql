-- Which moves were the greatest on a day?
-- :domain = (a domain; empty: ours)
-- :day = newest (day of the run; newest: the newest full one)
-- :rows = 20 (how many)
select
  movers.q, movers.domain, movers.previous_position, movers.position, movers.delta, movers.change, movers.url_key as page,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from analysis.movers_on(:day::date) as movers
join queries on queries.id = movers.query_id
where movers.change <> 'same'
  -- As a list that is known before: so it goes down to the rows of these domains.
  and movers.domain = any (array(select domain from own_domains union all select :domain::text))
  and case
    when :domain::text is null then exists (
      select
      from analysis.ours_on(movers.run_date) as ours
      where ours.domain = movers.domain
    )
    else movers.domain = :domain
  end
order by movers.places desc, movers.q, variant, movers.domain
limit :rows::integer;
