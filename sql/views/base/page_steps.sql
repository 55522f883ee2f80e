-- Positions of each page in an answer and in the previous answer, from which volatility and churn are computed.
create or replace view analysis.page_steps as
select
  sides.query_id,
  queries.q,
  sides.run_date,
  sides.url_key,
  sides.previous_position,
  sides.position,
  sides.previous_run_date,
  sides.depth,
  sides.previous_depth,
  sides.fetched_at,
  sides.search_id,
  sides.previous_search_id
from (
  select
    steps.query_id, steps.run_date, steps.search_id, pages.url_key,
    max(steps.previous_search_id) as previous_search_id,
    max(steps.previous_run_date) as previous_run_date,
    max(steps.depth) as depth,
    max(steps.previous_depth) as previous_depth,
    max(steps.fetched_at) as fetched_at,
    min(organic_results.position) filter (where not side.now) as previous_position,
    min(organic_results.position) filter (where side.now) as position
  from analysis.steps
  cross join lateral (values (steps.search_id, true), (steps.previous_search_id, false)) as side (search_id, now)
  join organic_results on organic_results.search_id = side.search_id
  join pages on pages.id = organic_results.page_id
  where steps.previous_search_id is not null
    and organic_results.position is not null
  group by steps.query_id, steps.run_date, steps.search_id, pages.url_key
) as sides
left join queries on queries.id = sides.query_id;
comment on view analysis.page_steps is 'One row for each page in an answer or the previous answer, with the positions of the page in both answers.';
comment on column analysis.page_steps.previous_position is 'Best position of the page in the previous answer; null if that answer did not show the page.';
comment on column analysis.page_steps.position is 'Best position of the page in the answer; null if the answer does not show the page.';
