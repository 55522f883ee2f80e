-- Which queries failed, and why?
-- :rows = 50 (how many, newest first)
select runs.run_date, lists.name as list, queries.q, tasks.state, tasks.error_code, tasks.error_message,
  analysis.variant_of(tasks.query_id) as variant
from tasks
join runs on runs.id = tasks.run_id
join lists on lists.id = runs.list_id
join queries on queries.id = tasks.query_id
where tasks.state in ('failed', 'unknown', 'unaffordable')
  and analysis.in_span(runs.run_date)
  and (analysis.slice() is null or analysis.in_slice(tasks.query_id, runs.run_date))
order by runs.run_date desc, queries.q, variant, lists.name
limit :rows::integer;
