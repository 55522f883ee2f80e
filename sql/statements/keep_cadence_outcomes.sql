-- Records the number of changes found in the answers to sampled queries. Parameters: :outcomes (jsonb, one object per
-- draw), :list (bigint).
update cadence_draws
set moves = outcome.moves
from jsonb_to_recordset(:outcomes::jsonb) as outcome (id uuid, run_date date, moves integer)
where cadence_draws.list_id = :list
  and cadence_draws.query_id = outcome.id
  and cadence_draws.run_date = outcome.run_date;
