-- How did the balance go each day, and what explains it?
select
  account, origin, day, opening_balance, calls, credits_used, credits_unknown, credits_unexplained, credits_added,
  closing_balance
from analysis.account_days
order by day desc, account;
