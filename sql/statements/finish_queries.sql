-- Stores the label set of each query for a day.
insert into finished_queries (finish_id, query_id, set_id, earliest)
select
  :finish::bigint, told.query_id, told.set_id,
  not exists (
    select
    from finished_queries as earlier
    join finished_days on finished_days.id = earlier.finish_id
    where earlier.query_id = told.query_id
      and earlier.set_id = told.set_id
      and earlier.earliest
      and finished_days.run_date < :day::date
      and finished_days.made_at is not null
  )
from (
  select query_id, analysis.set_id(slices) as set_id
  from analysis.query_days
  where run_date = :day::date
) as told
