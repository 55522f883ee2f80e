-- Which moves were the greatest on a day?
-- :domain = (a domain; empty: ours)
-- :day = (day of the run; empty: the newest)
-- :rows = 20 (how many)
select
  movers.q, movers.domain, movers.previous_position, movers.position, movers.delta, movers.change, movers.url_key as page,
  analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant
from analysis.movers
join queries on queries.id = movers.query_id
where movers.run_date = coalesce(:day::date, (select max(run_date) from analysis.observations))
  and movers.change <> 'same'
  and case
    when :domain::text is null then exists (
      select
      from own_domains
      where own_domains.domain = movers.domain
        and (own_domains.since is null or own_domains.since <= movers.run_date)
        and (own_domains.until is null or own_domains.until >= movers.run_date)
    )
    else movers.domain = :domain
  end
order by abs(coalesce(delta, 11 - coalesce(previous_position, position))) desc, q, variant, domain
limit :rows::integer;
