-- Which of our pages fell out of the top ten in the newest answers, and who took the place?
-- :day = newest (day of the run; newest: the newest full one)
select
  before.q,
  before.domain,
  before.url_key as page,
  before.position as previous_position,
  now.position,
  taker.domain as taken_by,
  taker.url_key as taken_by_page,
  before.depth,
  analysis.variant_of(before.query_id) as variant
from (
  -- A page may have stood at several places: the best one is what it lost.
  select
    steps.query_id, steps.search_id, queries.q, steps.depth, held.domain, pages.url_key,
    min(held.position) as position
  from analysis.step_days as steps
  join queries on queries.id = steps.query_id
  cross join lateral analysis.shown_in(steps.previous_search_id) as held
  join lateral analysis.ours_on(steps.run_date) as ours on ours.domain = held.domain
  join pages on pages.id = held.page_id
  where steps.run_date = :day::date
    and held.position <= 10
  group by steps.query_id, steps.search_id, queries.q, steps.depth, held.domain, pages.url_key
) as before
left join lateral (
  select min(organic_results.position) as position
  from organic_results
  join pages on pages.id = organic_results.page_id
  where organic_results.search_id = before.search_id
    -- A page that moved to www. or from it is still there.
    and analysis.page_name(pages.url_key) = analysis.page_name(before.url_key)
) as now on true
left join lateral (
  select result_domains.domain, pages.url_key
  from public.result_domains
  left join pages on pages.id = result_domains.page_id
  where result_domains.search_id = before.search_id
    and result_domains.position = before.position
  order by result_domains.ordinal
  limit 1
) as taker on true
-- Gone, in an answer deep enough to show it, or still there but lower down.
where now.position > 10
  or (now.position is null and before.depth >= before.position)
order by before.position, before.q, variant, page;
