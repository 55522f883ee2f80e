-- Reads the monthly list budgets that apply to the runs in :runs, with the credits used or reserved by all runs.
select
  lists.name as list, to_char(months.month, 'YYYY-MM') as month, lists.budget,
  sum(runs.budget_used)::float8 as gone
from (
  select distinct list_id, date_trunc('month', run_date) as month
  from runs
  where id = any(:runs::bigint[])
) as months
join lists on lists.id = months.list_id and lists.budget is not null
join runs on runs.list_id = lists.id and date_trunc('month', runs.run_date) = months.month
group by lists.id, months.month
order by lists.name, months.month
