-- How did the balance go each day, and what explains it?
-- unsliced: a balance belongs to no query
select
  account, origin, day, opening_balance, calls, credits_used, credits_unknown, credits_unexplained, credits_added,
  closing_balance
from analysis.account_days
where analysis.in_span(day)
order by day desc, account;
