-- Records the number of changes found in the answers to sampled queries. Parameters: :ids (uuid[]), :run_dates
-- (date[]), :moves (integer[]), one value per draw; :list (bigint).
update cadence_draws
set moves = outcome.moves
from unnest(
  :ids::uuid[],
  :run_dates::date[],
  :moves::integer[]
) as outcome (query_id, run_date, moves)
where cadence_draws.list_id = :list
  and cadence_draws.query_id = outcome.query_id
  and cadence_draws.run_date = outcome.run_date;
