-- Each query, with the highest-weight query that shares enough pages with it on the newest day.
create or replace view analysis.heavier_twins as
with newest as materialized (
  select analysis.newest_day() as night
),
pairs as materialized (
  select found.run_date, found.query_id, found.other_query_id, found.shared
  from newest
  cross join lateral analysis.serp_overlap_on(newest.night, 4) as found
),
weights as materialized (
  select days.query_id, days.weight
  from newest
  cross join lateral (
    select *
    from analysis.query_days
    where query_days.run_date = newest.night
    offset 0
  ) as days
)
select distinct on (both_ways.query_id)
  both_ways.run_date,
  coalesce(heavier.q, own.q) as heavier_twin,
  both_ways.query_id,
  own.q,
  own_days.weight,
  case when heavier.q is not null then both_ways.shared end as shared,
  coalesce(heavier.id, own.id) as twin_query_id
from (
  select run_date, query_id, other_query_id, shared from pairs
  union all
  select run_date, other_query_id, query_id, shared from pairs
) as both_ways
left join queries as own on own.id = both_ways.query_id
left join weights as own_days on own_days.query_id = both_ways.query_id
left join weights as hub_days on hub_days.query_id = both_ways.other_query_id
left join queries as heavier
  on heavier.id = both_ways.other_query_id
  and (hub_days.weight, heavier.q) > (own_days.weight, own.q)
order by both_ways.query_id, (heavier.q is not null) desc, hub_days.weight desc, both_ways.shared desc, heavier.q;
comment on view analysis.heavier_twins is 'Each query that shares at least four of its top 10 pages with another query on the newest full day, and its heavier twin. The twin is the heaviest query among this query and all queries that share at least four pages with it. Unlike analysis.keyword_groups, the view does not chain pairs.';
comment on column analysis.heavier_twins.heavier_twin is 'Text of the heavier query, or of the query itself if no query is heavier.';
comment on column analysis.heavier_twins.shared is 'Number of pages shared with the heavier query; null if no query is heavier.';
comment on column analysis.heavier_twins.twin_query_id is 'Id of the heavier query. Queries for several devices or places can have the same text.';
