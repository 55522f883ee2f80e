-- Reads a domain's position changes between two days, largest gains and losses first. Parameters: :domain,
-- :since, :until (date).
select
  moves.query_id as "queryId", moves.q, analysis.variant_of(moves.query_id) as variant,
  moves.previous_position as previous, moves.position, moves.previous_run_date as "previousDate",
  moves.run_date as "runDate",
  coalesce(weights.weight, 1) * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0)) as clicks
from analysis.movers_between(:since::date, :until::date, array[:domain::text]) as moves
left join analysis.latest_weights as weights on weights.query_id = moves.query_id
left join analysis.ctr as now on now.position = moves.position
left join analysis.ctr as before on before.position = moves.previous_position
where moves.change <> 'same'
order by abs(coalesce(weights.weight, 1) * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0))) desc, moves.places desc,
  moves.q, moves.query_id
limit 200;
