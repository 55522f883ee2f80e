-- Each new answer to a query, with the previous answer to that query. All comparisons over time are based on this view.
create or replace view analysis.steps as
select
  fresh.query_id,
  queries.q,
  fresh.run_date,
  fresh.search_id,
  fresh.depth,
  fresh.fetched_at,
  fresh.step,
  fresh.previous_run_date,
  fresh.previous_search_id,
  fresh.previous_depth,
  fresh.origin,
  fresh.api,
  fresh.steps
from (
  select
    query_id, run_date, search_id, depth, fetched_at, origin, api,
    row_number() over series as step,
    count(*) over (partition by query_id, origin, api) as steps,
    lag(run_date) over series as previous_run_date,
    lag(search_id) over series as previous_search_id,
    lag(depth) over series as previous_depth
  from (
    select
      query_id, run_date, search_id, depth, fetched_at, origin, api, evidence,
      max(fetched_at) over (
        partition by query_id, origin, api order by run_date rows between unbounded preceding and 1 preceding
      ) as fetched_before
    from analysis.observations
  ) as served
  -- A reused answer counts only on the first day for which it is used, so that an answer cannot confirm itself. To
  -- keep the series in order, a reused answer that is older than an earlier day's answer is not counted at all. If a
  -- query was not asked, its last answer is not counted for that day.
  where evidence = 'bought'
    or evidence <> 'not asked'
      and (fetched_before is null or fetched_at > fetched_before)
  window series as (partition by query_id, origin, api order by run_date)
) as fresh
left join queries on queries.id = fresh.query_id;
comment on view analysis.steps is 'Each new readable answer to a query, with the previous answer from the same origin and API. The previous answer may be of any age; it need not be from the day before.';
comment on column analysis.steps.run_date is 'First day for which the answer is used.';
comment on column analysis.steps.step is 'Number of the answer in the series for its query, origin and API, starting at 1.';
comment on column analysis.steps.steps is 'Number of answers in the series.';
