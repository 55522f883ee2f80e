-- Confirmed losses of top 10 positions, which are stored for finished days and computed for other days.
create or replace view analysis.confirmed_losses as
-- A loss is computed from the answers if it spans archived days, or if its query was not always in the slice.
with chosen as materialized (
  select
    analysis.basis() is not null and not exists (
      select
      from analysis.away_days
      join public.runs on runs.run_date < away_days.run_date
      where runs.run_date not in (select away.run_date from analysis.away_days as away)
    ) as kept,
    array(select query_id from analysis.sliced_queries() where not always) as partly,
    array(select run_date from analysis.unfinished_days) as unfinished
)
select
  found.query_id,
  queries.q,
  found.domain,
  found.run_date,
  found.position,
  found.base_place >> 20 as base_position,
  found.base_run_date,
  -- Pages are looked up one at a time, because there are far fewer losses than the planner expects.
  (select url_key from analysis.page_at(found.base_search_id, found.base_place)) as url_key,
  coalesce(found.depth, steps.depth)::bigint as depth,
  coalesce(found.fetched_at, steps.fetched_at) as fetched_at,
  coalesce(found.search_id, steps.search_id) as search_id,
  found.base_search_id
from (
  select
    kept.query_id, kept.domain, finished_days.run_date, kept.position, kept.base_place, kept.base_run_date,
    null::bigint as depth, null::timestamptz as fetched_at, null::bigint as search_id, kept.base_search_id, kept.finish_id
  from finished_days
  join finished_losses as kept on kept.finish_id = finished_days.id
  where kept.confirmed
    and finished_days.made_at is not null
    and finished_days.basis = (select analysis.basis())
    and (select chosen.kept from chosen)
    and finished_days.run_date not in (select away_days.run_date from analysis.away_days)
    and kept.base_run_date not in (select away_days.run_date from analysis.away_days)
    and case when (select analysis.slice() is not null)
      then (kept.query_id in (select query_id from analysis.sliced_queries() where always))::integer
      else 1
    end <> 0
  union all
  select
    live.query_id, live.domain, live.run_date, live.position, live.base_place, live.base_run_date,
    live.depth, live.fetched_at, live.search_id, live.base_search_id, null
  from analysis.live_losses as live
  where (select not kept or partly <> '{}' or unfinished <> '{}' from chosen)
    and (
      (select not kept from chosen)
      or live.query_id = any ((select partly from chosen)::uuid[])
      or live.run_date = any ((select unfinished from chosen)::date[])
    )
) as found
-- The planner omits this join if no column of the step is used.
left join finished_steps as steps on steps.finish_id = found.finish_id and steps.query_id = found.query_id
left join queries on queries.id = found.query_id;
comment on view analysis.confirmed_losses is 'Domains that lost a position in the top 10. Two consecutive answers confirm each loss. In each answer, the domain ranks more than five positions lower, or is missing although the answer is deep enough. Each loss has one row, with the date of the answer that confirms the loss.';
comment on column analysis.confirmed_losses.run_date is 'Day of the answer that confirmed the loss.';
comment on column analysis.confirmed_losses.position is 'Best position in the answer that confirmed the loss; null if this answer does not show the domain.';
comment on column analysis.confirmed_losses.base_position is 'Last position in the top 10 before the loss.';
comment on column analysis.confirmed_losses.base_run_date is 'Day of the answer that shows the domain at base_position.';
comment on column analysis.confirmed_losses.url_key is 'Page at base_position.';
comment on column analysis.confirmed_losses.base_search_id is 'Id of the answer that shows the domain at base_position.';
