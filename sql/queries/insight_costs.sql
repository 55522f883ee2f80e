-- What did each confirmed loss cost, by list?
-- :list = (name of a list; empty: all)
select
  list,
  sum(credits_used) as credits_used,
  sum(losses) as losses,
  sum(own_losses) as own_losses,
  round((sum(credits_used) / nullif(sum(losses), 0))::numeric, 2) as credits_per_loss,
  round((sum(credits_used) / nullif(sum(own_losses), 0))::numeric, 2) as credits_per_own_loss
from analysis.insight_costs
where (:list::text is null or list = :list)
  and analysis.in_span(run_date)
group by list
order by list;
