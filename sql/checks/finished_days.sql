-- Finished days
-- The sums stored for a day must equal the sums computed from its answers. Sums computed in a
-- different order may differ in the last digit. If a sample of days is checked, each day is
-- computed separately, which is faster for a few days. If all days are checked, the days are
-- computed together, which is faster for many days. Parameters: :days (bigint[], rows of
-- finished_days),
-- :all_days (boolean: true if :days contains all days that can be checked).

-- check: the query counts of each finished day match its answers
with drawn as materialized (
  select id, run_date
  from finished_days
  where id = any (:days::bigint[])
)
select count(*) as violations
from (
  select drawn.run_date, sums.set_id, sums.labels, sums.queries, sums.planned, sums.weight, sums.planned_weight
  from drawn
  join finished_labels as sums on sums.finish_id = drawn.id
) as there
full join (
  select live.run_date, live.set_id, live.labels, live.queries, live.planned, live.weight, live.planned_weight
  from analysis.live_labels as live
  where :all_days::boolean
    and live.run_date in (select run_date from drawn)
  union all
  select live.run_date, live.set_id, live.labels, live.queries, live.planned, live.weight, live.planned_weight
  from drawn
  cross join lateral analysis.labels_on(drawn.run_date) as live
  where not :all_days::boolean
) as live using (run_date, set_id)
where there.labels is distinct from live.labels
  or there.queries is distinct from live.queries
  or there.planned is distinct from live.planned
  or abs(coalesce(there.weight, 0) - coalesce(live.weight, 0)) > 1e-9 * greatest(1, abs(live.weight))
  or abs(coalesce(there.planned_weight, 0) - coalesce(live.planned_weight, 0))
    > 1e-9 * greatest(1, abs(live.planned_weight));

-- check: the shares of each finished day match its answers
with drawn as materialized (
  select id, run_date
  from finished_days
  where id = any (:days::bigint[])
)
select count(*) as violations
from (
  select
    drawn.run_date, sums.set_id, sums.domain, sums.ranked, sums.top_3, sums.top_10, sums.top_20, sums.positions,
    sums.clicks
  from drawn
  join finished_shares as sums on sums.finish_id = drawn.id
) as there
full join (
  select
    live.run_date, live.set_id, live.domain, live.ranked, live.top_3, live.top_10, live.top_20, live.positions,
    live.clicks
  from analysis.live_shares as live
  where :all_days::boolean
    and live.run_date in (select run_date from drawn)
  union all
  select
    live.run_date, live.set_id, live.domain, live.ranked, live.top_3, live.top_10, live.top_20, live.positions,
    live.clicks
  from drawn
  cross join lateral analysis.shares_on(drawn.run_date) as live
  where not :all_days::boolean
) as live using (run_date, set_id, domain)
where there.ranked is distinct from live.ranked
  or there.top_3 is distinct from live.top_3
  or there.top_10 is distinct from live.top_10
  or there.top_20 is distinct from live.top_20
  or abs(coalesce(there.positions, 0) - coalesce(live.positions, 0)) > 1e-9 * greatest(1, abs(live.positions))
  or abs(coalesce(there.clicks, 0) - coalesce(live.clicks, 0)) > 1e-9 * greatest(1, abs(live.clicks));

-- check: the differences of each finished day match its answers
-- The domains and page numbers in each row are compared only if each day is computed separately.
with drawn as materialized (
  select id, run_date
  from finished_days
  where id = any (:days::bigint[])
)
select count(*) as violations
from (
  select
    drawn.run_date, sums.query_id, sums.search_id, sums.fetched_at, sums.depth, sums.compared_depth, sums.entered,
    sums.left_top_10, sums.stayed, sums.previous_search_id, sums.previous_run_date, sums.previous_depth,
    sums.volatility, sums.switched, sums.retitled, sums.step, sums.since, sums.ended
  from drawn
  join finished_steps as sums on sums.finish_id = drawn.id
) as there
full join (
  select
    live.run_date, live.query_id, live.search_id, live.fetched_at, live.depth, live.compared_depth, live.entered,
    live.left_top_10, live.stayed, live.previous_search_id, live.previous_run_date, live.previous_depth,
    live.volatility, null::text[] as switched, null::text[] as retitled, null::smallint as step,
    null::smallint[] as since, null::smallint[] as ended
  from analysis.live_steps as live
  where :all_days::boolean
    and live.run_date in (select run_date from drawn)
  union all
  select
    live.run_date, live.query_id, live.search_id, live.fetched_at, live.depth, live.compared_depth, live.entered,
    live.left_top_10, live.stayed, live.previous_search_id, live.previous_run_date, live.previous_depth,
    live.volatility, live.switched, live.retitled, live.step, live.since, live.ended
  from drawn
  cross join lateral analysis.compared_on(drawn.run_date) as live
  where not :all_days::boolean
) as live using (run_date, query_id)
where there.search_id is distinct from live.search_id
  or there.fetched_at is distinct from live.fetched_at
  or there.depth is distinct from live.depth
  or there.compared_depth is distinct from live.compared_depth
  or there.entered is distinct from live.entered
  or there.left_top_10 is distinct from live.left_top_10
  or there.stayed is distinct from live.stayed
  or there.previous_search_id is distinct from live.previous_search_id
  or there.previous_run_date is distinct from live.previous_run_date
  or there.previous_depth is distinct from live.previous_depth
  or abs(coalesce(there.volatility, 0) - coalesce(live.volatility, 0)) > 1e-9 * greatest(1, abs(live.volatility))
  or (
    not :all_days::boolean
    and (
      there.switched is distinct from live.switched
      or array(select unnest(there.retitled) order by 1) <> array(select unnest(live.retitled) order by 1)
      or there.step is not null
        and (there.step, there.since, there.ended) is distinct from (live.step, live.since, live.ended)
    )
  );

-- check: the losses of each finished day match its answers
-- Losses that are not yet confirmed are compared only if each day is computed separately.
with drawn as materialized (
  select id, run_date
  from finished_days
  where id = any (:days::bigint[])
)
select count(*) as violations
from (
  select
    drawn.run_date, sums.query_id, sums.domain, sums.base_search_id, sums.base_run_date, sums.base_place, sums.position,
    sums.confirmed
  from drawn
  join finished_losses as sums on sums.finish_id = drawn.id
  where not :all_days::boolean
    or sums.confirmed
    -- Losses cannot be recomputed from archived answers.
    and sums.base_run_date not in (select archived_days.run_date from archived_days)
) as there
full join (
  select
    live.run_date, live.query_id, live.domain, live.base_search_id, live.base_run_date, live.base_place, live.position,
    true as confirmed
  from analysis.live_losses as live
  where :all_days::boolean
    and live.run_date in (select run_date from drawn)
  union all
  select
    drawn.run_date, live.query_id, live.domain, live.base_search_id, live.base_run_date, live.base_place, live.position,
    live.confirmed
  from drawn
  cross join lateral analysis.losses_on(drawn.run_date) as live
  where not :all_days::boolean
) as live using (run_date, query_id, domain)
where there.base_search_id is distinct from live.base_search_id
  or there.base_run_date is distinct from live.base_run_date
  or there.base_place is distinct from live.base_place
  or there.position is distinct from live.position
  or there.confirmed is distinct from live.confirmed;

-- check: each page in the answers of a finished day is in seen_pages with its query
with drawn as materialized (
  select run_date
  from finished_days
  where id = any (:days::bigint[])
)
select count(*) as violations
from drawn
cross join lateral (
  select observations.search_id, observations.query_id
  from analysis.observations
  where observations.run_date = drawn.run_date
  offset 0
) as shown
join organic_results on organic_results.search_id = shown.search_id
where organic_results.page_id is not null
  and not exists (
    select
    from seen_pages
    where seen_pages.page_id = organic_results.page_id
      and seen_pages.query_id = shown.query_id
  );

-- check: the domains and pages of each answer of a finished day match its results
select count(*) as violations
from finished_answers as there
cross join lateral (
  select array_agg(domain order by domain) as domains, array_agg(place order by domain) as places
  from unnest(there.domains, there.places) as held (domain, place)
) as held
cross join lateral (
  select array_agg(domain order by domain) as domains, array_agg(place order by domain) as places
  from (
    select shown.domain collate "C" as domain, min(shown.place) as place
    from analysis.shown_in(there.search_id) as shown
    where shown.domain is not null
    group by shown.domain
  ) as best
) as live
where there.finish_id = any (:days::bigint[])
  and (
    (held.domains, held.places) is distinct from (live.domains, live.places)
    or array(select unnest(there.pages) order by 1) <> array(
      select distinct hashtextextended(shown.url_key, 0)
      from analysis.shown_in(there.search_id) as shown
      where shown.position <= 10
        and shown.url_key is not null
      order by 1
    )
  );

-- check: the outcomes of each finished day match its tasks
select count(*) as violations
from (
  select finish_id, coalesce(list_id, 0) as list_id, set_id, outcome, queries, newest, oldest
  from finished_outcomes
  where finish_id = any (:days::bigint[])
) as there
full join (
  select
    kept.finish_id, coalesce(found.list_id, 0) as list_id, kept.set_id, found.outcome, count(*) as queries,
    max(found.fetched_at) as newest, min(found.fetched_at) as oldest
  from finished_days
  cross join lateral analysis.outcomes_between(finished_days.run_date, finished_days.run_date) as found
  join finished_queries as kept on kept.finish_id = finished_days.id and kept.query_id = found.query_id
  where finished_days.id = any (:days::bigint[])
  group by kept.finish_id, found.list_id, kept.set_id, found.outcome
) as live using (finish_id, list_id, set_id, outcome)
where (there.queries, there.newest, there.oldest) is distinct from (live.queries, live.newest, live.oldest);

-- check: the stays counted for each finished day match its steps
select count(*) as violations
from (
  select finish_id, set_id, over, answers, pages
  from finished_stays
  where finish_id = any (:days::bigint[])
) as there
full join (
  select steps.finish_id, kept.set_id, stays.over, stays.answers, count(*) as pages
  from finished_steps as steps
  join finished_queries as kept using (finish_id, query_id)
  cross join lateral analysis.stays_of(steps.step, steps.since, steps.ended) as stays
  where steps.finish_id = any (:days::bigint[])
    and steps.step is not null
  group by steps.finish_id, kept.set_id, stays.over, stays.answers
) as live using (finish_id, set_id, over, answers)
where there.pages is distinct from live.pages;
