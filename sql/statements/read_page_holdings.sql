-- Reads the sums for a page in all spellings, day by day, counted like those of a domain. Parameters: :key (of the
-- page), :since, :until (date).
with asked as materialized (
  select query_days.run_date, query_days.query_id, query_days.weight, observations.search_id
  from analysis.query_days
  join analysis.observations using (query_id, run_date)
  where query_days.run_date between :since::date and :until::date
    -- The condition is stated for both tables: the planner does not infer it and would read the answers of all days.
    and observations.run_date between :since::date and :until::date
),
held as (
  select asked.run_date, asked.query_id, asked.weight, min(result_domains.place) >> 20 as position
  from asked
  join public.result_domains on result_domains.search_id = asked.search_id
  where result_domains.place is not null
    and result_domains.page_id = any (array(select id from pages where url_key = :key))
  group by asked.run_date, asked.query_id, asked.weight
),
sums as (
  select
    held.run_date, count(*) as ranked,
    count(*) filter (where held.position <= 3) as top_3,
    count(*) filter (where held.position <= 10) as top_10,
    count(*) filter (where held.position <= 20) as top_20,
    coalesce(sum(held.weight * curve.ctr), 0) as clicks
  from held
  left join analysis.ctr as curve on curve.position = held.position
  group by held.run_date
)
select
  days.run_date as "runDate", days.queries, coalesce(held.ranked, 0) as ranked, coalesce(held.top_3, 0) as top3,
  coalesce(held.top_10, 0) as top10, coalesce(held.top_20, 0) as top20,
  coalesce(held.clicks, 0) / nullif(days.weight, 0) as share,
  days.queries * 2 < max(days.queries) over () as thin
from (
  select run_date, count(*) as queries, sum(weight) as weight
  from asked
  group by run_date
) as days
left join sums as held on held.run_date = days.run_date
order by days.run_date;
