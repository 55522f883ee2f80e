-- Reads the nearest earlier and later days on which a query has an answer. Parameters: :query (uuid), :day (date).
select
  max(run_date) filter (where run_date < :day::date) as before,
  min(run_date) filter (where run_date > :day::date) as after
from analysis.observations
where query_id = :query;
