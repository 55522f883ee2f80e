-- What was the outcome of each night, are its answers trusted, and where is data missing?
-- :list = (name of a list; empty: all lists)
-- :only = all [all|gaps|suspect|missed] (nights to show; gaps: nights on which a query has no answer)
-- :day = newest (the last day; newest: the newest full day)
-- :days = 7 (number of earlier days to include, if --since is not given)
select
  run_date, list, outcome, planned, answered, round(share::numeric, 3) as share, bought, reused, not_asked, failed, unknown,
  unaffordable, cancelled, open, unreadable, suspect, archived, other_origin, credits_spent, why
-- The first day is computed before the rows are read, so that rows for earlier days are not read.
from (
  select analysis.since(coalesce(:day::date, (select max(run_date) from runs)), :days::integer) as since
  offset 0
) as first
cross join lateral analysis.coverage_between(first.since, 'infinity')
where (:list::text is null or list = :list)
  and analysis.in_span(run_date)
  and case :only when 'gaps' then answered < planned or planned = 0
    when 'suspect' then suspect > 0
    when 'missed' then planned = 0
    else true
  end
order by run_date desc, list;

-- show failures: Which queries failed, and why?
-- :top = 50 (number of rows, newest first)
select runs.run_date, lists.name as list, queries.q, tasks.state, tasks.error_code, tasks.error_message,
  analysis.variant_of(tasks.query_id) as variant
from tasks
join runs on runs.id = tasks.run_id
join lists on lists.id = runs.list_id
join queries on queries.id = tasks.query_id
where tasks.state in ('failed', 'unknown', 'unaffordable')
  and analysis.in_span(runs.run_date)
  and (analysis.slice() is null or (tasks.query_id, runs.run_date) in (select query_id, run_date from analysis.sliced_days(true)))
order by runs.run_date desc, queries.q, variant, lists.name
limit :top::integer;

-- show costs: What did the answers cost, and how many answers had changed?
-- :list = (name of a list; empty: all lists)
select
  run_date, list, calls, credits_used, answers, changed,
  round(credits_per_answer::numeric, 3) as credits_per_answer,
  round(credits_per_change::numeric, 3) as credits_per_change,
  unknown_calls, credits_unknown, credits_lost
from analysis.costs
where tag = '*'
  and (:list::text is null or list = :list)
  and analysis.in_span(run_date)
order by run_date desc, list;

-- show insight: What did each confirmed loss cost, by list?
-- :list = (name of a list; empty: all lists)
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

-- show balance: How did the balance change each day, and what explains each change?
-- unsliced: a balance does not depend on queries
select
  account, origin, day, opening_balance, calls, credits_used, credits_unknown, credits_unexplained, credits_added,
  closing_balance
from (
  -- The period filters whole days, not individual lines of the statement.
  select *
  from analysis.account_days
  offset 0
) as days
where analysis.in_span(day)
order by day desc, account;

-- show freshness: How old are the newest answers of each list?
-- :list = (name of a list; empty: all lists)
select list, queries, answered, never_answered, newest, oldest, median_age
from analysis.freshness
where :list::text is null or list = :list
order by list;
