-- Change in each domain's position between an answer and the previous answer.
create or replace view analysis.movers as
select
  sides.query_id,
  queries.q,
  sides.domain,
  sides.run_date,
  sides.previous_place >> 20 as previous_position,
  sides.place >> 20 as position,
  (sides.previous_place >> 20) - (sides.place >> 20) as delta,
  case
    when sides.previous_place is null then 'entered'
    when sides.place is null then 'left'
    when sides.place >> 20 < sides.previous_place >> 20 then 'up'
    when sides.place >> 20 > sides.previous_place >> 20 then 'down'
    else 'same'
  end as change,
  sides.fetched_at,
  sides.previous_run_date,
  sides.url_key,
  sides.previous_url_key,
  sides.depth,
  sides.previous_depth,
  sides.search_id,
  sides.previous_search_id,
  sides.several_pages,
  case
    when sides.previous_place is null then sides.previous_depth + 1 - (sides.place >> 20)
    when sides.place is null then sides.depth + 1 - (sides.previous_place >> 20)
    else abs((sides.previous_place >> 20) - (sides.place >> 20))
  end as places
from (
  select
    steps.query_id, steps.run_date, steps.search_id,
    max(steps.previous_search_id) as previous_search_id,
    max(steps.previous_run_date) as previous_run_date,
    max(steps.depth)::bigint as depth,
    max(steps.previous_depth)::bigint as previous_depth,
    max(steps.fetched_at) as fetched_at,
    result_domains.domain,
    min(hashtextextended(result_domains.url_key, 0)) <> max(hashtextextended(result_domains.url_key, 0))
      as several_pages,
    min(result_domains.place) filter (where side.now) as place,
    min(result_domains.place) filter (where not side.now) as previous_place,
    -- The page is read here, because finding the best position again later would double the cost.
    (array_agg(result_domains.url_key order by result_domains.place) filter (where side.now))[1] as url_key,
    (array_agg(result_domains.url_key order by result_domains.place) filter (where not side.now))[1]
      as previous_url_key
  from analysis.step_days as steps
  cross join lateral (values (steps.search_id, true), (steps.previous_search_id, false)) as side (search_id, now)
  join public.result_domains on result_domains.search_id = side.search_id
  where steps.previous_search_id is not null
    and result_domains.place is not null
    and result_domains.domain is not null
  group by steps.search_id, steps.run_date, steps.query_id, result_domains.domain
) as sides
left join queries on queries.id = sides.query_id
-- A domain counts as entered or left only if the other answer was deep enough to show its position.
where (sides.place is not null or sides.depth >= sides.previous_place >> 20)
  and (sides.previous_place is not null or sides.previous_depth >= sides.place >> 20);
comment on view analysis.movers is 'Change for each domain between an answer and the previous answer. Changes that the shallower answer cannot show are excluded. There are no rows for the first answer to a query.';
comment on column analysis.movers.previous_position is 'Best position in the previous answer; null if that answer does not show the domain.';
comment on column analysis.movers.position is 'Best position in the answer; null if the answer no longer shows the domain.';
comment on column analysis.movers.delta is 'Positions gained: 3 means three up, -3 means three down; null for entered and left.';
comment on column analysis.movers.change is 'Kind of change: up, down, same, entered or left.';
comment on column analysis.movers.url_key is 'Page that holds the domain''s best position in the answer.';
comment on column analysis.movers.previous_url_key is 'Page that holds the domain''s best position in the previous answer.';
comment on column analysis.movers.several_pages is 'True if the two answers together show more than one page of the domain. Different spellings of an address count as the same page.';
comment on column analysis.movers.places is 'Number of positions moved, in either direction. For entered and left, the number is a minimum that assumes a position just below the last position of the other answer.';
