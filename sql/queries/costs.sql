-- What did answers cost, and how many of them had changed?
-- :list = (name of a list; empty: all)
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
