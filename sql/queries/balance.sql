-- How did the balance go, and do our calls explain it?
select account, origin, day, calls, credits_used, highest_balance, lowest_balance, credits_unexplained
from analysis.account_days
order by day desc, account;
