-- How much each answer differs from the one before, from 0 (the same) to 1 (nothing stayed).
create or replace view analysis.volatility as
select
  compared.query_id,
  queries.q,
  compared.run_date,
  compared.previous_run_date,
  coalesce(compared.distance / nullif(compared.exchange, 0)::double precision, 0) as volatility,
  compared.places,
  compared.search_id,
  compared.previous_search_id,
  compared.fetched_at
from (
  select
    query_id, run_date, search_id,
    max(previous_run_date) as previous_run_date,
    max(previous_search_id) as previous_search_id,
    max(fetched_at) as fetched_at,
    max(places) as places,
    -- Below the shallower answer's last place nothing is known of the other: both end there.
    sum(abs(
      case when position <= places then position else places + 1 end
      - case when previous_position <= places then previous_position else places + 1 end
    )) as distance,
    -- What it would be if no page had stayed. Counted, since places may be shared by two pages or held by none.
    sum(greatest(places + 1 - position, 0) + greatest(places + 1 - previous_position, 0)) as exchange
  from (
    select *, least(depth, previous_depth) as places
    from analysis.page_steps
  ) as placed
  where places > 0
  group by query_id, run_date, search_id
) as compared
left join queries on queries.id = compared.query_id;
comment on view analysis.volatility is 'How much each answer differs from the one before it: the distances that pages moved, added up, a missing page counting as one place below the last; divided by what a full exchange gives.';
comment on column analysis.volatility.volatility is '0: the same pages at the same places; 1: no page stayed.';
comment on column analysis.volatility.places is 'Places that are compared: the depth of the shallower answer.';
