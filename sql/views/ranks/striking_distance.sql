-- Positions from 4 to 20 in the newest answers, with the clicks that could be gained at position 3.
create or replace view analysis.striking_distance as
select
  latest.query_id,
  latest.q,
  held.domain,
  held.position,
  weights.weight as weight,
  weights.weight * (
    coalesce((select ctr from analysis.ctr where position = 3), 0) - coalesce(curve.ctr, 0)
  ) as gain,
  latest.depth,
  latest.fetched_at
from analysis.latest
cross join lateral (
  select named.domain, named.place >> 20 as position
  from analysis.domains_in(latest.search_id) as named
  where named.place >> 20 between 4 and 20
) as held
left join analysis.ctr as curve on curve.position = held.position
join analysis.latest_weights as weights on weights.query_id = latest.query_id;
comment on view analysis.striking_distance is 'Domains whose best position in the newest answer to a query is 4 to 20, with the clicks that could be gained at position 3. Only queries in the current lists are considered. Sort by gain, highest first.';
comment on column analysis.striking_distance.position is 'Best position of the domain.';
comment on column analysis.striking_distance.weight is 'Highest weight of the query in any current list. If a list sets no weight for the query, a weight of 1 is used.';
comment on column analysis.striking_distance.gain is 'Weight times the additional share of clicks at position 3.';
