-- Numbers of consecutive answers for which pages stayed in the top 10. Excludes stays already present in the
-- oldest answer.
create or replace view analysis.stay_lengths as
-- Stays are computed from the answers if a stay may span archived days, or if the steps of some answers are unknown.
with chosen as materialized (
  select
    exists (select from analysis.away_days) as away,
    analysis.basis() is not null
      and (select count(*) < 2 from analysis.unfinished_days)
      and not exists (select from finished_steps where step is null)
      and not exists (
        select
        from analysis.away_days
        join public.runs on runs.run_date < away_days.run_date
        where runs.run_date not in (select away.run_date from analysis.away_days as away)
      ) as kept
),
-- The oldest answers that are not archived.
oldest as materialized (
  select query_id, min(step) as step, count(*) as series
  from analysis.step_days
  where (select kept and away from chosen)
    and previous_search_id is null
  group by query_id
),
-- Queries whose stays are computed from the answers: those that were not always in the slice, and those with several
-- series after archived days.
partly as materialized (
  select array(
    select query_id from analysis.sliced_queries() where not always
    union
    select query_id from oldest where series > 1
  ) as queries
),
steps as materialized (
  select
    step_days.query_id, step_days.search_id, step_days.previous_search_id, step_days.step, step_days.since, step_days.ended,
    coalesce(oldest.step, 1) as oldest
  from analysis.step_days
  left join oldest on oldest.query_id = step_days.query_id
  where (select kept from chosen)
    and step_days.query_id <> all ((select queries from partly)::uuid[])
)
select false as lasts, (left_at - since)::bigint as answers, query_id
from (
  -- In the "from" clause, unnest would be several times slower.
  select query_id, step as left_at, unnest(ended) as since, oldest
  from steps
  where ended <> '{}'
) as ended
where since > oldest
union all
select true, step + 1 - since, query_id
from (
  select query_id, step, unnest(since) as since, oldest
  from steps
  where not exists (
    select
    from steps as later
    where later.previous_search_id = steps.search_id
  )
) as lasting
where since > oldest
union all
select stays.lasts, stays.answers, stays.query_id
from analysis.top_ten_stays as stays
where (select not kept or queries <> '{}' from chosen, partly)
  and ((select not kept from chosen) or stays.query_id = any ((select queries from partly)::uuid[]))
  and stays.began;
comment on view analysis.stay_lengths is 'Lengths of page stays in the top 10. Stays that include the oldest answer are excluded. analysis.top_ten_stays lists the pages.';
comment on column analysis.stay_lengths.lasts is 'True if the newest answer still shows the page in the top 10.';
comment on column analysis.stay_lengths.answers is 'Number of consecutive answers in the stay.';
comment on column analysis.stay_lengths.query_id is 'Id of the query.';
