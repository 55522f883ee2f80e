-- What each balance lost on each day, and what explains it.
create or replace view analysis.account_days as
select
  statement.account,
  statement.origin,
  (statement.at at time zone 'UTC')::date as day,
  count(distinct statement.call_id) filter (where statement.kind = 'ours') as calls,
  coalesce(-sum(statement.credits) filter (where statement.kind = 'ours'), 0)::bigint as credits_used,
  max(statement.balance - case when statement.kind = 'opening' then 0 else statement.credits end) as highest_balance,
  min(statement.balance) as lowest_balance,
  coalesce(-sum(statement.credits) filter (where statement.kind = 'others'), 0)::bigint as credits_unexplained,
  coalesce(-sum(statement.credits) filter (where statement.kind = 'perhaps_ours'), 0)::bigint as credits_unknown,
  coalesce(sum(statement.credits) filter (where statement.kind = 'top_up'), 0)::bigint as credits_added,
  (
    array_agg(
      statement.balance - case when statement.kind = 'opening' then 0 else statement.credits end order by statement.line
    )
  )[1] as opening_balance,
  (array_agg(statement.balance order by statement.line desc))[1] as closing_balance
from analysis.statement
group by statement.account, statement.origin, (statement.at at time zone 'UTC')::date;
comment on view analysis.account_days is 'What each account''s balance lost and gained on each day (UTC), and what explains it: the opening balance, less credits_used, credits_unknown and credits_unexplained, with credits_added, is the closing balance.';
comment on column analysis.account_days.account is 'Name of the account.';
comment on column analysis.account_days.origin is 'live, test or sandbox.';
comment on column analysis.account_days.day is 'Day, in UTC.';
comment on column analysis.account_days.calls is 'Calls that used credits and told how many.';
comment on column analysis.account_days.credits_used is 'Credits that they used.';
comment on column analysis.account_days.highest_balance is 'Highest balance of the day, before a change.';
comment on column analysis.account_days.lowest_balance is 'Lowest balance of the day, after a change.';
comment on column analysis.account_days.credits_unexplained is 'Falls of the balance that no call of ours explains: spent by others with the same account.';
comment on column analysis.account_days.credits_unknown is 'Falls while a call was out whose end nobody could read: perhaps ours.';
comment on column analysis.account_days.credits_added is 'Rises of the balance: top-ups, renewals, credits given back.';
comment on column analysis.account_days.opening_balance is 'Balance before the first change of the day.';
comment on column analysis.account_days.closing_balance is 'Balance after the last change of the day.';
