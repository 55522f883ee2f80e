-- Reads the nights of adaptive lists by day, newest first, including nights before a list became adaptive.
-- Parameters: :since, :until (date).
with nights as (
  select runs.list_id, lists.name as list, runs.run_date, sum(runs.spent) as credits
  from runs
  join lists on lists.id = runs.list_id
  where runs.kind = 'nightly'
    and runs.run_date between :since::date and :until::date
    and exists (select from cadence_nights where cadence_nights.list_id = runs.list_id)
  group by runs.list_id, lists.name, runs.run_date
)
select
  nights.list, nights.run_date, nights.credits, receipt.credits_saved, seen.moves,
  receipt.hidden, case when receipt.hidden is not null then receipt.hidden_low end as hidden_low,
  case when receipt.hidden is not null then receipt.hidden_high end as hidden_high
from nights
left join analysis.cadence_nights as receipt
  on receipt.list = nights.list
  and receipt.run_date = nights.run_date
left join (
  select list_queries.list_id, step_days.run_date, sum(step_days.entered + step_days.left_top_10) as moves
  from analysis.step_days
  join list_queries on list_queries.query_id = step_days.query_id
  where step_days.run_date between :since::date and :until::date
  group by list_queries.list_id, step_days.run_date
) as seen on seen.list_id = nights.list_id and seen.run_date = nights.run_date
order by nights.list, nights.run_date desc;
