-- What each balance lost on each day, and how much of it our calls explain.
create or replace view analysis.account_days as
select
  accounts.name as account,
  accounts.kind as origin,
  (calls.finished_at at time zone 'UTC')::date as day,
  count(*) as calls,
  sum(calls.credits_used) as credits_used,
  max(calls.credits_remaining + calls.credits_used) as highest_balance,
  min(calls.credits_remaining) as lowest_balance,
  max(calls.credits_remaining + calls.credits_used) - min(calls.credits_remaining) - sum(calls.credits_used)
    as credits_unexplained
from calls
join accounts on accounts.id = calls.account_id
where calls.outcome = 'settled'
  and calls.credits_used is not null
  and calls.credits_remaining is not null
group by accounts.name, accounts.kind, (calls.finished_at at time zone 'UTC')::date;
comment on view analysis.account_days is 'What each account''s balance lost on each day (UTC), and how much of that our own answers do not explain: calls of others, calls that nobody could read, or a balance that was filled up.';
comment on column analysis.account_days.account is 'Name of the account.';
comment on column analysis.account_days.origin is 'live, test or sandbox.';
comment on column analysis.account_days.day is 'Day, in UTC.';
comment on column analysis.account_days.calls is 'Calls that told what they used and what is left.';
comment on column analysis.account_days.credits_used is 'Credits that they used.';
comment on column analysis.account_days.highest_balance is 'Highest balance of the day, before a call.';
comment on column analysis.account_days.lowest_balance is 'Lowest balance of the day, after a call.';
comment on column analysis.account_days.credits_unexplained is 'Fall of the balance that these calls do not explain; 0 when we spend alone. Filling up the balance during the day adds to it.';
