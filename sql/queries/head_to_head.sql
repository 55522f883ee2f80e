-- For which queries is a rival ahead of a domain, and for which is it behind?
-- :rival (a domain, or a brand)
-- :domain = (a domain; empty: ours)
-- :day = newest (day of the run; newest: the newest full one)
-- :rows = 30 (how many, the greatest differences first)
select
  q,
  own_position,
  rival_position,
  case when rival_position is null or own_position < rival_position then 'we' else 'they' end as ahead,
  round(abs(difference)::numeric, 3) as clicks,
  analysis.variant_of(query_id) as variant
from (
  select
    ranks.query_id,
    max(ranks.q) as q,
    min(ranks.position) filter (where not theirs.held) as own_position,
    min(ranks.position) filter (where theirs.held) as rival_position,
    max(query_days.weight) * (
      coalesce(max(curve.ctr) filter (where not theirs.held), 0)
      - coalesce(max(curve.ctr) filter (where theirs.held), 0)
    ) as difference
  from analysis.ranks
  join analysis.query_days using (query_id, run_date)
  left join analysis.ctr as curve on curve.position = ranks.position
  cross join lateral (
    select ranks.domain = :rival or ranks.domain in (
      select domain
      from analysis.brands
      where lower(brand) = lower(:rival)
        and (since is null or since <= :day::date)
        and (until is null or until >= :day::date)
    ) as held
  ) as theirs
  where ranks.run_date = :day::date
    and (
      theirs.held
      or case
        when :domain::text is null then ranks.domain in (
          select domain
          from analysis.ours_on(:day::date)
        )
        else ranks.domain = :domain
      end
    )
  group by ranks.query_id
) as compared
order by abs(difference) desc, q, variant
limit :rows::integer;
