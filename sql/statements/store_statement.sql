-- Stores the final lines of each statement, which no open call can change. Must run in a
-- "repeatable read" transaction.
with locked as (
  -- Transactions that change a call update the same row, so they either wait or make this
  -- transaction fail.
  insert into statement_marks (account_id, line, next_seq, next_id)
  select accounts.id, 0, 0, 0
  from accounts
  on conflict (account_id, line) do update set next_seq = 0
),
fresh as materialized (
  select live.*
  from analysis.live_statement as live
),
marks as (
  insert into statement_marks (account_id, line, next_seq, next_id, ended_at)
  select
    last.account_id, last.line, last.last_seq + 1, (
      select coalesce(min(calls.id) filter (where calls.start_seq > last.last_seq), max(calls.id) + 1)
      from calls
      where calls.account_id = last.account_id
    ),
    case when last.next_seq is null then (
      select max(calls.finished_at)
      from calls
      where calls.account_id = last.account_id
        and calls.start_seq <= last.last_seq
    ) end
  from (
    select distinct on (account_id) account_id, line, last_seq, next_seq
    from fresh
    where last_seq is not null
      -- A call in flight may overlap an explained call.
      and not exists (
        select
        from calls
        where calls.account_id = fresh.account_id
          and calls.outcome is null
          and calls.start_seq < coalesce(fresh.next_seq, calls.start_seq + 1)
      )
    order by account_id, line desc
  ) as last
  -- Replaces an older mark for the same line.
  on conflict (account_id, line) do update
  set next_seq = excluded.next_seq, next_id = excluded.next_id, ended_at = excluded.ended_at
  returning account_id, line
)
insert into statement_lines (account_id, line, at, after, kind, credits, balance, call_id)
select fresh.account_id, fresh.line, fresh.at, fresh.after, fresh.kind, fresh.credits, fresh.balance, fresh.call_id
from fresh
join marks on marks.account_id = fresh.account_id and fresh.line <= marks.line
on conflict (account_id, line) do update
set at = excluded.at, after = excluded.after, kind = excluded.kind, credits = excluded.credits,
  balance = excluded.balance, call_id = excluded.call_id;
