-- Daily changes in each balance, grouped by explanation.
create or replace view analysis.account_days as
select
  accounts.name as account,
  accounts.kind as origin,
  changes.day,
  changes.calls,
  changes.credits_used,
  changes.highest_balance,
  changes.lowest_balance,
  changes.credits_unexplained,
  changes.credits_unknown,
  changes.credits_added,
  changes.opening_balance,
  changes.opening_balance - changes.credits_used - changes.credits_unexplained - changes.credits_unknown + changes.credits_added
    as closing_balance
from (
  select
    statement.account_id,
    (statement.at at time zone 'UTC')::date as day,
    -- Each call has at most one line of kind "ours", so these lines are counted as calls.
    count(*) filter (where statement.kind = 'ours') as calls,
    coalesce(-sum(statement.credits) filter (where statement.kind = 'ours'), 0)::bigint as credits_used,
    max(statement.balance - case when statement.kind = 'opening' then 0 else statement.credits end) as highest_balance,
    min(statement.balance) as lowest_balance,
    coalesce(-sum(statement.credits) filter (where statement.kind = 'others'), 0)::bigint as credits_unexplained,
    coalesce(-sum(statement.credits) filter (where statement.kind = 'perhaps_ours'), 0)::bigint as credits_unknown,
    coalesce(sum(statement.credits) filter (where statement.kind = 'top_up'), 0)::bigint as credits_added,
    -- Aggregating with min finds the first line without sorting.
    (
      min(array[statement.line, statement.balance - case when statement.kind = 'opening' then 0 else statement.credits end])
    )[2] as opening_balance
  from analysis.statement
  group by statement.account_id, (statement.at at time zone 'UTC')::date
) as changes
join public.accounts on accounts.id = changes.account_id;
comment on view analysis.account_days is 'Daily changes in the balance of each account (UTC), grouped by explanation. The closing balance is the opening balance minus credits_used, credits_unknown and credits_unexplained, plus credits_added.';
comment on column analysis.account_days.account is 'Name of the account.';
comment on column analysis.account_days.origin is 'Origin of the account: live, test or sandbox.';
comment on column analysis.account_days.day is 'Day, in UTC.';
comment on column analysis.account_days.calls is 'Number of calls that used credits and reported their cost.';
comment on column analysis.account_days.credits_used is 'Credits used by calls that reported their cost.';
comment on column analysis.account_days.highest_balance is 'Highest balance of the day, measured before each change.';
comment on column analysis.account_days.lowest_balance is 'Lowest balance of the day, measured after each change.';
comment on column analysis.account_days.credits_unexplained is 'External spend: the decrease in the balance that no call in this database explains.';
comment on column analysis.account_days.credits_unknown is 'Decrease in the balance during calls with an unknown outcome. Calls with an unknown outcome may have used these credits.';
comment on column analysis.account_days.credits_added is 'Credits added to the balance by top-ups, renewals and refunds.';
comment on column analysis.account_days.opening_balance is 'Balance before the first change of the day.';
comment on column analysis.account_days.closing_balance is 'Balance after the last change of the day.';
