-- Uninterrupted stays of pages in the top 10.
create or replace view analysis.top_ten_stays as
select
  query_id,
  max(q) as q,
  url_key,
  min(run_date) as since,
  max(run_date) as until,
  count(*) as answers,
  min(position) as best_position,
  max(position) as worst_position,
  bool_or(newest) as lasts,
  not bool_or(oldest) as began
from (
  select
    steps.query_id, steps.q, steps.origin, steps.api, steps.run_date, steps.step = steps.steps as newest, steps.step = 1 as oldest,
    placed.url_key, placed.position,
    -- Consecutive answers have consecutive step numbers, so the difference below is constant within a stay.
    steps.step - row_number() over (
      partition by steps.query_id, steps.origin, steps.api, placed.url_key order by steps.step
    ) as stretch
  from analysis.steps
  -- Reads each answer's pages separately. A single join would read all answers, even for a single query.
  cross join lateral (
    select pages.url_key, min(organic_results.position) as position
    from organic_results
    join pages on pages.id = organic_results.page_id
    where organic_results.search_id = steps.search_id
      and organic_results.position <= 10
    group by pages.url_key
  ) as placed
) as stretches
group by query_id, origin, api, url_key, stretch;
comment on view analysis.top_ten_stays is 'One row for each uninterrupted stay of a page in the top 10 of a query.';
comment on column analysis.top_ten_stays.since is 'First day of the stay.';
comment on column analysis.top_ten_stays.until is 'Last day of the stay.';
comment on column analysis.top_ten_stays.answers is 'Number of consecutive answers in the stay.';
comment on column analysis.top_ten_stays.best_position is 'Best position of the page during the stay.';
comment on column analysis.top_ten_stays.worst_position is 'Worst position of the page during the stay.';
comment on column analysis.top_ten_stays.lasts is 'True if the newest answer still shows the page in the top 10.';
comment on column analysis.top_ten_stays.began is 'False if the oldest answer already shows the page in the top 10, so that the start of the stay is unknown.';
