-- Reads a page's ranked queries and shares for each day, under all spellings of its address. Counted as for a domain.
-- Parameters: :key (key of the page), :since, :until (date).
with showing as materialized (
  select array(select analysis.queries_showing(array[:key::text], :since::date, :until::date)) as queries
),
held as (
  select observations.run_date, observations.query_id, min(result_domains.place) >> 20 as position
  from analysis.observations
  join public.result_domains on result_domains.search_id = observations.search_id
  where observations.run_date between :since::date and :until::date
    and observations.query_id = any ((select queries from showing)::uuid[])
    and result_domains.place is not null
    and result_domains.page_id = any (array(select analysis.pages_of(array[:key::text])))
  group by observations.run_date, observations.query_id
),
sums as (
  select
    weighed.run_date, count(*) as ranked,
    count(*) filter (where weighed.position <= 3) as top_3,
    count(*) filter (where weighed.position <= 10) as top_10,
    count(*) filter (where weighed.position <= 20) as top_20,
    coalesce(sum(weighed.weight * curve.ctr), 0) as clicks
  -- Rows are grouped, not joined: the planner expects few queries, so a join would compare every pair of rows.
  from (
    select run_date, query_id, max(weight) as weight, min(position) as position
    from (
      select run_date, query_id, null as weight, position
      from held
      union all
      select run_date, query_id, weight, null
      from analysis.query_days
      where run_date between :since::date and :until::date
        and query_id = any ((select queries from showing)::uuid[])
    ) as sides
    group by run_date, query_id
  ) as weighed
  left join analysis.ctr as curve on curve.position = weighed.position
  where weighed.position is not null
  group by weighed.run_date
)
select
  days.run_date as "runDate", days.queries, coalesce(held.ranked, 0) as ranked, coalesce(held.top_3, 0) as top3,
  coalesce(held.top_10, 0) as top10, coalesce(held.top_20, 0) as top20,
  coalesce(held.clicks, 0) / nullif(days.weight, 0) as share,
  days.queries * 2 < max(days.queries) over () as thin
from analysis.label_days as days
left join sums as held on held.run_date = days.run_date
where days.tag = '*'
  and days.queries > 0
  and days.run_date between :since::date and :until::date
order by days.run_date;
