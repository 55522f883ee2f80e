-- Reads all list budgets, with the credits used or reserved, for the months of open runs and the month of :day.
select
  lists.name as list, to_char(months.month, 'YYYY-MM') as month, lists.budget,
  coalesce(sum(runs.budget_used), 0)::float8 as gone
from lists
join lateral (
  select date_trunc('month', :day::date) as month
  union
  select date_trunc('month', open.run_date)
  from runs as open
  where open.list_id = lists.id and open.state in ('planning', 'open')
) as months on true
left join runs on runs.list_id = lists.id and date_trunc('month', runs.run_date) = months.month
where lists.budget is not null
group by lists.id, months.month
order by lists.name, months.month
