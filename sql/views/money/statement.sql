-- Every change in each balance, with its explanation.
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
  change.line,
  accounts.id as account_id
from (
  select lines.account_id, lines.line, lines.at, lines.after, lines.kind, lines.credits, lines.balance, lines.call_id
  from public.statement_lines as lines
  join analysis.statement_ends as ends on ends.account_id = lines.account_id and lines.line <= ends.line
  union all
  select account_id, line, at, after, kind, credits, balance, call_id
  from analysis.live_statement
) as change
join public.accounts on accounts.id = change.account_id
left join public.calls on calls.id = change.call_id
-- Includes calls for forgotten queries, which also cost credits. Each table is joined by a single key, so that the
-- planner can omit the joins if the run is not selected.
left join public.tasks on tasks.id = calls.task_id
left join public.forgotten_tasks on forgotten_tasks.task_id = calls.task_id
left join public.runs on runs.id = coalesce(tasks.run_id, forgotten_tasks.run_id)
left join public.lists on lists.id = runs.list_id;
comment on view analysis.statement is 'All changes in each account''s balance, with explanations, in the order in which the API charged the calls. The first line of an account''s statement contains the balance reported by the account''s first answer. The first line and all later changes add up to the current balance. Concurrent calls are ordered so that their balances are consistent. An increase and a decrease between two answers appear as a single net change.';
comment on column analysis.statement.account is 'Name of the account.';
comment on column analysis.statement.origin is 'Origin of the account: live, test or sandbox.';
comment on column analysis.statement.at is 'Time at which the change was observed.';
comment on column analysis.statement.after is 'Time at which the balance before the change was last observed; null in the first line.';
comment on column analysis.statement.kind is 'Kind of change: opening (the first known balance), ours (the cost that a call reported), perhaps_ours (a decrease during a call with an unknown outcome, up to the call''s reservation), others (external spend: a decrease that no call in this database explains) or top_up (an increase from a top-up, a renewal or a refund).';
comment on column analysis.statement.credits is 'Change in the balance, negative for a decrease. The first line shows the first known balance.';
comment on column analysis.statement.balance is 'Balance after the change.';
comment on column analysis.statement.call_id is 'Id of the call to which the change is attributed; for kind others or top_up, id of the call that revealed the change.';
comment on column analysis.statement.run_id is 'Id of the call''s run, for changes of kind ours or perhaps_ours.';
comment on column analysis.statement.list is 'Name of the list to which the run in run_id belongs.';
comment on column analysis.statement.line is 'Line number in the account''s statement.';
comment on column analysis.statement.account_id is 'Identifier of the account.';
