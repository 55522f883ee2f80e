-- Stores each domain's clicks and number of ranked queries for a day. The day's label sets and the domains in its
-- answers must already be stored.
insert into finished_shares
  (finish_id, set_id, domain, ranked, top_3, top_10, top_20, positions, clicks)
select
  :finish::bigint, best.set_id, best.domain,
  count(*),
  count(*) filter (where best.position <= 3),
  count(*) filter (where best.position <= 10),
  count(*) filter (where best.position <= 20),
  sum(best.position::double precision),
  sum(best.weight * curve.ctr)
from (
  select kept.set_id, weights.weight, held.domain, held.place >> 20 as position
  from analysis.observations
  join finished_queries as kept on kept.finish_id = :finish::bigint and kept.query_id = observations.query_id
  join (select query_id, weight from analysis.query_days where run_date = :day::date) as weights
    on weights.query_id = observations.query_id
  cross join lateral analysis.domains_in(observations.search_id) as held
  where observations.run_date = :day::date
    and held.place is not null
) as best
left join analysis.ctr as curve on curve.position = best.position
group by best.set_id, best.domain
