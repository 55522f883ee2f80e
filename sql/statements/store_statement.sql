-- Stores the lines of each statement that no open call can change any more. Runs in a transaction of isolation level
-- "repeatable read". No parameters.
with locked as (
  -- A call that changes updates the same row, so either its transaction waits for this one, or this one fails.
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
  insert into statement_marks (account_id, line, next_seq, next_id)
  select last.account_id, last.line, last.next_seq, following.id
  from (
    select fresh.account_id, max(fresh.line) as line, max(fresh.next_seq) as next_seq
    from fresh
    left join (
      select account_id, min(start_seq) as start_seq
      from calls
      where outcome is null
      group by account_id
    ) as open on open.account_id = fresh.account_id
    where fresh.next_seq < coalesce(open.start_seq, fresh.next_seq + 1)
    group by fresh.account_id
  ) as last
  cross join lateral (
    select min(calls.id) as id
    from calls
    where calls.account_id = last.account_id
      and calls.start_seq >= last.next_seq
  ) as following
  returning account_id, line
)
insert into statement_lines (account_id, line, at, after, kind, credits, balance, call_id)
select fresh.account_id, fresh.line, fresh.at, fresh.after, fresh.kind, fresh.credits, fresh.balance, fresh.call_id
from fresh
join marks on marks.account_id = fresh.account_id and fresh.line <= marks.line
-- Replaces outdated lines.
on conflict (account_id, line) do update
set at = excluded.at, after = excluded.after, kind = excluded.kind, credits = excluded.credits,
  balance = excluded.balance, call_id = excluded.call_id;
