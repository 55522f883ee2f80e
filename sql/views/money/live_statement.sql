-- Lines of each statement after the stored lines, computed from the calls.
create or replace view analysis.live_statement as
select
  ends.account_id,
  ends.line + change.line as line,
  change.at,
  change.after,
  change.kind,
  change.credits,
  change.balance,
  change.call_id,
  told.seqs[change.explained] as last_seq,
  told.seqs[change.explained + 1] as next_seq
from analysis.statement_ends as ends
left join public.statement_lines as lines on lines.account_id = ends.account_id and lines.line = ends.line
cross join lateral (
  select
    array_agg(id order by start_seq, id) as ids,
    array_agg(start_seq order by start_seq, id) as seqs,
    array_agg(sent_at order by start_seq, id) as sent,
    array_agg(finished_at order by start_seq, id) as finished,
    array_agg(credits_used::bigint order by start_seq, id) as used,
    array_agg(credits_remaining order by start_seq, id) as remaining,
    array_agg(credits_reserved::bigint order by start_seq, id) as bound,
    array_agg(washed_at order by start_seq, id) as washed
  from public.calls
  where calls.account_id = ends.account_id
    and calls.outcome in ('settled', 'unknown')
    and calls.id >= ends.next_id
    and calls.start_seq >= ends.next_seq
) as told
cross join lateral analysis.balance_changes(
  told.ids, told.sent, told.finished, told.used, told.remaining, told.bound, told.washed, lines.balance, lines.at
) with ordinality as change (at, after, kind, credits, balance, call_id, explained, line);
comment on view analysis.live_statement is 'Lines of analysis.statement that are not stored yet, computed from the calls.';
comment on column analysis.live_statement.account_id is 'Account whose balance changed.';
comment on column analysis.live_statement.line is 'Line number in the account''s statement.';
comment on column analysis.live_statement.at is 'Time at which the change was observed.';
comment on column analysis.live_statement.after is 'Time at which the balance before the change was last observed; null in the first line.';
comment on column analysis.live_statement.kind is 'Kind of change, as in analysis.statement.';
comment on column analysis.live_statement.credits is 'Change in the balance, negative for a decrease.';
comment on column analysis.live_statement.balance is 'Balance after the change.';
comment on column analysis.live_statement.call_id is 'Call to which the change is attributed.';
comment on column analysis.live_statement.last_seq is 'Highest start number of the calls explained up to this line; null if another call overlaps these calls.';
comment on column analysis.live_statement.next_seq is 'Start number of the call after last_seq; null if there is no later call yet.';
