-- Reads the domains by their share in the last known answers on a day, compared with an earlier day; own domains
-- first. Parameters: :since, :until (date), :word (part of the domain, or null).
with sides as materialized (
  select day.now, known.query_id, known.search_id, coalesce(weights.weight, 1) as weight
  from (values (true, :until::date), (false, :since::date)) as day (now, day)
  cross join lateral analysis.known_on(day.day) as known
  left join analysis.latest_weights as weights on weights.query_id = known.query_id
),
totals as (
  select sum(weight) filter (where now) as weight, sum(weight) filter (where not now) as previous
  from sides
),
best as (
  select sides.now, sides.search_id, sides.weight, shown.domain, min(shown.place) >> 20 as position
  from sides
  join public.result_domains as shown on shown.search_id = sides.search_id
  where shown.place is not null
    and shown.domain is not null
    and (:word::text is null or strpos(shown.domain, lower(:word::text)) > 0)
  group by sides.now, sides.query_id, sides.search_id, sides.weight, shown.domain
),
summed as (
  select
    best.domain,
    coalesce(sum(best.weight * curve.ctr) filter (where best.now), 0) as clicks,
    coalesce(sum(best.weight * curve.ctr) filter (where not best.now), 0) as previous,
    count(*) filter (where best.now) as ranked,
    count(*) filter (where best.now and best.position <= 3) as top_3
  from best
  left join analysis.ctr as curve on curve.position = best.position
  group by best.domain
)
select
  summed.domain, exists (
    select
    from analysis.ours_on(:until::date) as ours
    where ours.domain = summed.domain
  ) as ours, coalesce(summed.clicks / nullif(totals.weight, 0), 0) as share,
  coalesce(summed.previous / nullif(totals.previous, 0), 0) as "previousShare", summed.ranked, summed.top_3 as top3
from summed
cross join totals
order by ours desc, share desc, summed.domain
limit 100;
