-- Every change of each balance, explained.
create or replace view analysis.statement as
select
  accounts.name as account,
  accounts.kind as origin,
  change.at,
  change.after,
  change.kind,
  change.credits,
  change.balance,
  change.call_id,
  case when change.kind in ('ours', 'perhaps_ours') then runs.id end as run_id,
  case when change.kind in ('ours', 'perhaps_ours') then lists.name end as list,
  change.line
from (
  select
    account_id,
    array_agg(id order by start_seq, id) as ids,
    array_agg(sent_at order by start_seq, id) as sent,
    array_agg(finished_at order by start_seq, id) as finished,
    array_agg(credits_used::bigint order by start_seq, id) as used,
    array_agg(credits_remaining order by start_seq, id) as remaining,
    array_agg(credits_reserved::bigint order by start_seq, id) as bound,
    array_agg(washed_at order by start_seq, id) as washed
  from public.calls
  where outcome in ('settled', 'unknown')
  group by account_id
) as told
join public.accounts on accounts.id = told.account_id
cross join lateral analysis.balance_changes(
  told.ids, told.sent, told.finished, told.used, told.remaining, told.bound, told.washed
) with ordinality as change (at, after, kind, credits, balance, call_id, line)
left join public.calls on calls.id = change.call_id
-- What was forgotten cost something all the same.
left join (
  select id, run_id from public.tasks
  union all
  select task_id, run_id from public.forgotten_tasks
) as tasks on tasks.id = calls.task_id
left join public.runs on runs.id = tasks.run_id
left join public.lists on lists.id = runs.list_id;
comment on view analysis.statement is 'Every change of each account''s balance, in the order in which the API charged, and what explains it. The first line of an account is the balance that its first answer found; that and all changes together are the balance left. Of calls at the same time, the order is the one in which their balances fit together; what rose and fell between two answers shows as its difference.';
comment on column analysis.statement.account is 'Name of the account.';
comment on column analysis.statement.origin is 'live, test or sandbox.';
comment on column analysis.statement.at is 'When the change had been seen.';
comment on column analysis.statement.after is 'When the balance had been seen before it; null in the first line.';
comment on column analysis.statement.kind is 'opening: the balance found; ours: a call that told its cost; perhaps_ours: a fall while a call was out whose end nobody could read, at most what was set aside for it; others: a fall that no call of ours explains; top_up: a rise, by a top-up, a renewal, or credits given back.';
comment on column analysis.statement.credits is 'The change: below 0 where the balance fell; in the first line the balance.';
comment on column analysis.statement.balance is 'Balance after it.';
comment on column analysis.statement.call_id is 'The call that it belongs to; of others and top_up the call that saw it.';
comment on column analysis.statement.run_id is 'The run of that call, where the change is ours or perhaps ours.';
comment on column analysis.statement.list is 'The list of that run.';
comment on column analysis.statement.line is 'Its place in the account''s statement.';
