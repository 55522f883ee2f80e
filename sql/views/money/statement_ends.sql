-- Last stored line of each account's statement.
create or replace view analysis.statement_ends as
select
  accounts.id as account_id,
  coalesce(mark.line, 0) as line,
  coalesce(mark.next_seq, 0) as next_seq,
  coalesce(mark.next_id, 0) as next_id
from public.accounts
left join lateral (
  select marks.line, marks.next_seq, marks.next_id
  from public.statement_marks as marks
  where marks.account_id = accounts.id
    and not exists (
      select
      from public.calls
      where calls.account_id = marks.account_id
        and calls.id >= marks.next_id
        and calls.start_seq >= marks.next_seq
        and calls.outcome in ('settled', 'unknown')
        and calls.sent_at <= marks.ended_at
    )
  order by marks.line desc
  limit 1
) as mark on true;
comment on view analysis.statement_ends is 'The last stored line of each account''s statement.';
comment on column analysis.statement_ends.account_id is 'Account to which the statement belongs.';
comment on column analysis.statement_ends.line is 'Last line that is stored and final; 0 if no line is stored.';
comment on column analysis.statement_ends.next_seq is 'Start number of the first call not explained by a stored line.';
comment on column analysis.statement_ends.next_id is 'Lowest id of the calls not explained by a stored line.';
