-- Stores the label set of each query for a day.
insert into finished_queries (finish_id, query_id, set_id)
select :finish::bigint, query_id, analysis.set_id(slices)
from analysis.query_days
where run_date = :day::date
