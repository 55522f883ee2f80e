-- Numbers of consecutive answers for which pages stayed in the top 10. Excludes stays already present in the
-- oldest answer.
create or replace view analysis.stay_lengths as
-- A stay is computed from the answers if it spans archived days, or if its query was not always in the slice.
with chosen as materialized (
  select analysis.basis() is not null and not exists (
    select
    from analysis.away_days
    join public.runs on runs.run_date < away_days.run_date
    where runs.run_date not in (select away.run_date from analysis.away_days as away)
  ) as kept,
  array(select query_id from analysis.sliced_queries() where not always) as partly
)
select moved.left_at is null as lasts, coalesce(moved.left_at, moved.steps + 1) - moved.step as answers, moved.query_id
from (
  select
    steps.query_id, steps.step, steps.steps, event.came,
    lead(steps.step) over (partition by steps.query_id, steps.series, event.page order by steps.step) as left_at
  from (
    select
      query_id, series, came, went,
      row_number() over (partition by query_id, series order by run_date) as step,
      count(*) over (partition by query_id, series) as steps
    from (
      select
        query_id, run_date, came, went,
        -- Usually, all answers to a query have the same origin and API, so no lookup is needed.
        case when count(*) filter (where previous_search_id is null) over (partition by query_id) > 1 then (
          select (searches.origin, searches.api)::text
          from public.searches
          where searches.id = step_days.search_id
        ) end as series
      from analysis.step_days
      where (select kept from chosen)
        and query_id <> all ((select partly from chosen)::uuid[])
    ) as answers
  ) as steps
  cross join lateral (
    select unnest(steps.came) as page, true as came
    union all
    select unnest(steps.went), false
  ) as event
  where steps.came <> '{}'
    or steps.went <> '{}'
) as moved
where moved.came
union all
select stays.lasts, stays.answers, stays.query_id
from analysis.top_ten_stays as stays
where (select not kept or partly <> '{}' from chosen)
  and ((select not kept from chosen) or stays.query_id = any ((select partly from chosen)::uuid[]))
  and stays.began;
comment on view analysis.stay_lengths is 'Lengths of page stays in the top 10. Stays that include the oldest answer are excluded. analysis.top_ten_stays lists the pages.';
comment on column analysis.stay_lengths.lasts is 'True if the newest answer still shows the page in the top 10.';
comment on column analysis.stay_lengths.answers is 'Number of consecutive answers in the stay.';
comment on column analysis.stay_lengths.query_id is 'Id of the query.';
