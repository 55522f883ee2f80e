-- Balances, prices, workers, paid calls and stops.

create table accounts (
  id bigint generated always as identity primary key,
  name text not null,
  kind text not null check (kind in ('live', 'test', 'sandbox')),
  seq bigint not null default 0,
  used_total bigint not null default 0,
  obs_seq bigint,
  obs_at timestamptz,
  obs_remaining bigint,
  spent_since bigint not null default 0,
  reserved bigint not null default 0 check (reserved >= 0),
  in_flight integer not null default 0 check (in_flight >= 0),
  uncertain bigint not null default 0 check (uncertain >= 0),
  drained_floor bigint,
  blind_calls smallint not null default 0,
  probe_granted boolean not null default false,
  last_probe_at timestamptz,
  not_before timestamptz,
  rate_next_at timestamptz,
  slowdowns integer not null default 0,
  day date,
  day_spent bigint not null default 0,
  blocked_keys text[] not null default '{}',
  told_seq bigint,
  told_least bigint,
  told_untold bigint not null default 0,
  next_told_seq bigint,
  next_told_least bigint,
  next_told_untold bigint not null default 0,
  month date,
  month_spent bigint not null default 0,
  month_since timestamptz,
  replay_ms bigint check (replay_ms > 0),
  history text,
  history_seq bigint not null default 0,
  keys text[] not null default '{}',
  foreign_keys text[] not null default '{}',
  external_ended bigint,
  external_base bigint not null default 0,
  external_now integer not null default 0,
  external_last integer,
  wrong_answers integer not null default 0,
  unique (name, kind)
) with (fillfactor = 50);
comment on table accounts is 'Credit balances that API keys draw on, as recorded in the ledger. If a key is replaced, the account stays the same.';
comment on column accounts.id is 'Identifier of the account.';
comment on column accounts.name is 'Name of the account: MILL_ACCOUNT, or the host of the API.';
comment on column accounts.kind is 'Kind of account: live, test (used with a test key; calls never stop for lack of credits) or sandbox (the bundled service).';
comment on column accounts.seq is 'Start number of the newest call, and therefore the number of calls started so far.';
comment on column accounts.used_total is 'Total credits used by all settled calls.';
comment on column accounts.obs_seq is 'Start number of the call whose answer reported the balance in obs_remaining. If several calls reported a balance, the balance from the call that started last is stored.';
comment on column accounts.obs_at is 'Start time of the call whose answer reported the balance in obs_remaining.';
comment on column accounts.obs_remaining is 'Balance reported by the answer whose call started last.';
comment on column accounts.spent_since is 'Credits used by calls that ended after the call that reported obs_remaining had started. These credits may not have been deducted from obs_remaining yet.';
comment on column accounts.reserved is 'Credits reserved for calls in flight.';
comment on column accounts.in_flight is 'Number of calls in flight.';
comment on column accounts.uncertain is 'Credits held for calls with an unknown outcome, until a later balance includes the cost of these calls.';
comment on column accounts.drained_floor is 'Credit floor in force when calls stopped for lack of credits; null while there are enough credits.';
comment on column accounts.blind_calls is 'Number of calls sent alone to determine the balance since a balance was last reported.';
comment on column accounts.probe_granted is 'True after npm run resume, until a call reports the balance. Until then, calls may be sent one at a time to determine the balance.';
comment on column accounts.last_probe_at is 'Time at which a single call was last admitted to determine the balance.';
comment on column accounts.not_before is 'Time before which no call may start, because the API requested a slowdown.';
comment on column accounts.rate_next_at is 'Time at which the rate limit allows the next call.';
comment on column accounts.slowdowns is 'Number of consecutive slowdown requests from the API; a burst of requests counts once.';
comment on column accounts.day is 'Day to which day_spent refers, in the configured time zone.';
comment on column accounts.day_spent is 'Credits used on the current budget day. For a call with an unknown cost, the reserved credits are counted.';
comment on column accounts.blocked_keys is 'Fingerprints of the keys that the API refused.';
comment on column accounts.told_seq is 'Number of calls that had started when tracking of told_least and told_untold began. The call that reported obs_remaining has a higher start number.';
comment on column accounts.told_least is 'Lowest balance reported since tracking began (told_seq); null if no balance was reported.';
comment on column accounts.told_untold is 'Credits used by answers that reported no balance since tracking began (told_seq).';
comment on column accounts.next_told_seq is 'Next value of told_seq: the number of calls started before the newer tracking period began.';
comment on column accounts.next_told_least is 'Lowest balance reported in the newer tracking period (next_told_seq), which later replaces told_least; null if no balance was reported.';
comment on column accounts.next_told_untold is 'Next value of told_untold: credits used by answers that reported no balance in the newer tracking period (next_told_seq).';
comment on column accounts.month is 'First day of the month to which month_spent refers, in the configured time zone. The month starts on the day of the last renewal (MILL_RENEWAL), or on the first of the calendar month.';
comment on column accounts.month_spent is 'Credits used in the current budget month. For a call with an unknown cost, the reserved credits are counted.';
comment on column accounts.month_since is 'Time from which the month''s credits are counted. This time can be later than the start of the month, for example after MILL_RENEWAL is changed.';
comment on column accounts.replay_ms is 'Period in milliseconds during which the API returns the same answer for the same Idempotency-Key and charges only once. Null if the API has not announced this period.';
comment on column accounts.history is 'Value of server_history() when the most recent calls started; null before the first call.';
comment on column accounts.history_seq is 'Number of calls that had started when the database history changed. A balance reported by one of these calls is trusted only after a call sent alone has checked it.';
comment on column accounts.keys is 'Fingerprints of the keys whose answers reported the account''s balance. Another key is trusted only after a single call has checked its balance.';
comment on column accounts.foreign_keys is 'Fingerprints of the keys whose balance cannot belong to this account. No calls are made with these keys.';
comment on column accounts.external_ended is 'Number of calls that had ended when the current measurement of external spend began.';
comment on column accounts.external_base is 'Highest sum of balance and billed credits in the current measurement of external spend. If a later sum is lower, the difference is external spend.';
comment on column accounts.external_now is 'External spend per call in the current measurement, in credits. External spend includes credits spent by other programs, and the unbilled part of the cost of calls.';
comment on column accounts.external_last is 'External spend per call in the previous measurement, in credits; null until the first measurement is complete.';
comment on column accounts.wrong_answers is 'Number of answers to a query other than the query that was sent. After the first wrong answer, answers that the API repeats for an Idempotency-Key are no longer trusted.';

create table account_costs (
  account_id bigint not null references accounts,
  class text not null,
  dearest bigint,
  cheapest bigint,
  seen integer not null default 0,
  trying boolean not null default false,
  recent_first bigint not null default 0,
  recent_second bigint not null default 0,
  recent_count integer not null default 0,
  earlier_first bigint not null default 0,
  earlier_second bigint not null default 0,
  earlier_count integer not null default 0,
  primary key (account_id, class)
);
comment on table account_costs is 'Prices of past calls by price class. These prices provide an upper bound on the prices of future calls.';
comment on column account_costs.account_id is 'Account that paid for the calls.';
comment on column account_costs.class is 'Price class: the number of results and the device, on which prices depend.';
comment on column account_costs.dearest is 'Highest price so far; null before the first price is known.';
comment on column account_costs.cheapest is 'Lowest price so far; null before the first price is known.';
comment on column account_costs.seen is 'Number of known prices. Once thirty prices are known, the highest recent price is used as an upper bound.';
comment on column account_costs.trying is 'True while the first call in a price class without a known price is in flight.';
comment on column account_costs.recent_first is 'Highest recent price.';
comment on column account_costs.recent_second is 'Second highest recent price; equal to the highest if the highest price occurred twice.';
comment on column account_costs.recent_count is 'Number of recent prices. When this number reaches thirty, the recent prices become the earlier prices.';
comment on column account_costs.earlier_first is 'Highest earlier price. The earlier prices (thirty or more) precede the recent prices.';
comment on column account_costs.earlier_second is 'Second highest of the earlier prices; equal to the highest if the highest price occurred twice.';
comment on column account_costs.earlier_count is 'Number of prices summarised in earlier_first and earlier_second.';

create table workers (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  host text not null,
  pid integer not null,
  key text,
  floor bigint not null,
  concurrency integer not null,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null,
  stopped_at timestamptz
);
create index workers_live on workers (account_id, lease_until) where stopped_at is null;
comment on table workers is 'Processes that buy answers. Each worker has a lease, timed by the database clock.';
comment on column workers.id is 'Identifier of the worker.';
comment on column workers.account_id is 'Account that pays for the worker''s calls.';
comment on column workers.host is 'Host on which the worker runs.';
comment on column workers.pid is 'Process id of the worker on its host.';
comment on column workers.key is 'Fingerprint of the API key that the worker uses.';
comment on column workers.floor is 'Credit floor in the worker''s settings. The highest floor among live workers is in force.';
comment on column workers.concurrency is 'Number of calls that the worker may have in flight.';
comment on column workers.started_at is 'Time at which the worker started.';
comment on column workers.lease_until is 'End of the lease. After this time, other workers may abandon this worker''s calls in flight.';
comment on column workers.stopped_at is 'Time at which the worker exited normally; null while the worker is running, or if it died.';

create table calls (
  id bigint generated always as identity primary key,
  task_id bigint not null,
  query_id uuid not null,
  account_id bigint not null,
  worker bigint not null,
  sent_at timestamptz not null,
  finished_at timestamptz,
  unknown_at timestamptz,
  washed_at timestamptz,
  start_seq bigint not null,
  start_total bigint not null,
  credits_remaining bigint,
  credits_reserved integer not null,
  credits_used integer,
  http_status integer,
  outcome text check (outcome in ('settled', 'unknown', 'unsent')),
  probe boolean not null default false,
  class text not null,
  error_code text,
  error_message text,
  mark uuid,
  max_age_ms bigint check (max_age_ms >= 0),
  estimated boolean not null default false,
  asked_again smallint not null default 0,
  asked_again_at timestamptz
) with (fillfactor = 80);
create unique index calls_task_in_flight on calls (task_id) where outcome is null;
create unique index calls_query_in_flight on calls (account_id, query_id) where outcome is null;
create index calls_unwashed on calls (account_id, unknown_at) where outcome = 'unknown' and washed_at is null;
create index calls_of_task on calls (task_id);
comment on table calls is 'Ledger with one row for each call, including calls that were reserved and then released without being sent.';
comment on column calls.id is 'Identifier of the call.';
comment on column calls.task_id is 'Task for which the call was made.';
comment on column calls.query_id is 'Query that was sent.';
comment on column calls.account_id is 'Account that paid for the call.';
comment on column calls.worker is 'Worker that made the call.';
comment on column calls.sent_at is 'Time at which the call was reserved, just before it was sent.';
comment on column calls.finished_at is 'Time at which the outcome was recorded.';
comment on column calls.unknown_at is 'Time at which the call was abandoned because its answer could not be read.';
comment on column calls.washed_at is 'Time at which a reported balance first included the cost of this call, whose outcome is unknown. After this time, no credits are held for the call.';
comment on column calls.start_seq is 'Start number of the call. An account''s calls are numbered in the order in which they start.';
comment on column calls.start_total is 'Value of accounts.used_total at the start of the call.';
comment on column calls.credits_remaining is 'Balance reported by the answer.';
comment on column calls.credits_reserved is 'Credits reserved for the call. These credits are held while outcome is null, or while outcome is unknown and washed_at is null.';
comment on column calls.credits_used is 'Cost of the call in credits, as reported by the answer; null if unknown. See also estimated.';
comment on column calls.http_status is 'HTTP status of the response; null if no response was received.';
comment on column calls.outcome is 'Outcome of the call: settled, unknown (may have been charged) or unsent (released without being sent). Null while the call is in flight.';
comment on column calls.probe is 'True if the call was admitted alone to determine the balance.';
comment on column calls.class is 'Price class: the number of results and the device, on which prices depend.';
comment on column calls.error_code is 'Code of the error.';
comment on column calls.error_message is 'Description of the error, in one sentence.';
comment on column calls.mark is 'Random value that the worker created before the reservation. An answer is matched to its call by call number and mark, because a database restored to an earlier state reuses call numbers. Null if the call was made by an older version, or if its query was forgotten.';
comment on column calls.max_age_ms is 'Maximum age in milliseconds at which a stored answer would have been reused instead. Null for old calls, for which this age was not recorded.';
comment on column calls.estimated is 'True if the answer reported no price. If true, credits_used is the decrease in the balance.';
comment on column calls.asked_again is 'Number of repeated requests for the lost answer, with the mark as the Idempotency-Key.';
comment on column calls.asked_again_at is 'Time of the last repeated request for the lost answer.';

create table stops (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts,
  reason text not null check (reason in ('credit_floor', 'budget', 'auth', 'rate', 'unreachable')),
  since timestamptz not null default now(),
  until timestamptz,
  detail text,
  cleared_at timestamptz,
  cleared_by text
);
create unique index stops_standing on stops (account_id, reason) where cleared_at is null;
comment on table stops is 'Reasons why an account''s calls are or were stopped.';
comment on column stops.id is 'Identifier of the stop.';
comment on column stops.account_id is 'Account whose calls are stopped.';
comment on column stops.reason is 'Reason for the stop: credit_floor, budget (daily or monthly), auth (the API refused the key), rate (the API requested a slowdown) or unreachable.';
comment on column stops.since is 'Time at which the stop began.';
comment on column stops.until is 'Time at which the stop ends automatically; null if this time is unknown.';
comment on column stops.detail is 'Description of the cause, in one sentence.';
comment on column stops.cleared_at is 'Time at which the stop was lifted; null while the stop is in force.';
comment on column stops.cleared_by is 'Event that lifted the stop: observation (a reported balance), resume, renewal, key, day or time.';

-- The lines for older calls are stored, so each new statement has to explain only the account's newest calls.
create table statement_lines (
  account_id bigint not null references accounts on delete cascade,
  line bigint not null,
  at timestamptz not null,
  after timestamptz,
  kind text not null,
  credits bigint not null,
  balance bigint not null,
  call_id bigint not null,
  primary key (account_id, line)
);
create index statement_lines_at on statement_lines using brin (at);
comment on table statement_lines is 'Stored lines of analysis.statement. Lines after the last row in statement_marks are ignored.';
comment on column statement_lines.account_id is 'Account whose balance changed.';
comment on column statement_lines.line is 'Line number in the account''s statement.';
comment on column statement_lines.at is 'Time at which the change was observed.';
comment on column statement_lines.after is 'Time at which the balance before the change was last observed; null in the first line.';
comment on column statement_lines.kind is 'Kind of change, as in analysis.statement.';
comment on column statement_lines.credits is 'Change in the balance, negative for a decrease.';
comment on column statement_lines.balance is 'Balance after the change.';
comment on column statement_lines.call_id is 'Call to which the change is attributed.';

create table statement_marks (
  account_id bigint not null references accounts on delete cascade,
  line bigint not null,
  next_seq bigint not null,
  next_id bigint not null,
  ended_at timestamptz,
  primary key (account_id, line)
);
comment on table statement_marks is 'Marks up to which an account''s statement is final. All calls that were charged before a mark have ended. Each account has a row with line 0, which is locked while lines are stored.';
comment on column statement_marks.account_id is 'Account to which the statement belongs.';
comment on column statement_marks.line is 'Last final line.';
comment on column statement_marks.next_seq is 'Start number of the first call not explained by a final line.';
comment on column statement_marks.next_id is 'Lowest id of the calls that no final line explains.';
comment on column statement_marks.ended_at is 'End time of the last explained call, if all later calls started after this time. The mark becomes invalid if a later call started before this time, because overlapping calls must be explained together.';

-- If a call changes after its charge was explained, the call's line and all later lines are
-- outdated. The insert waits for transactions that are storing lines, so that the delete sees
-- their marks.
create function forget_statement() returns trigger language plpgsql as $$
begin
  insert into statement_marks as marks (account_id, line, next_seq, next_id)
  select accounts.id, 0, 0, 0
  from accounts
  where accounts.id = old.account_id
  on conflict (account_id, line) do update set next_seq = 0;
  delete from statement_marks
  where account_id = old.account_id
    and next_seq > old.start_seq;
  return null;
end
$$;
create trigger explained_call_changed after update on calls
  for each row
  when (
    old.outcome is not null
    and (old.outcome, old.credits_used, old.credits_remaining, old.credits_reserved, old.sent_at, old.finished_at, old.washed_at)
      is distinct from (
        new.outcome, new.credits_used, new.credits_remaining, new.credits_reserved, new.sent_at, new.finished_at, new.washed_at
      )
  )
  execute function forget_statement();
create trigger explained_call_went after delete on calls
  for each row execute function forget_statement();

create function ledger_changed() returns boolean
language plpgsql as $$
begin
  raise exception 'the books changed meanwhile' using errcode = 'QM001';
end
$$;
comment on function ledger_changed() is 'Raises error QM001. The ledger''s SQL statements call this function if a decision was based on outdated data. The decision is then made again with current data.';

-- A balance is valid only on the timeline of the server that stored it. After a failover, the new server may lack the
-- latest calls, so its balance is too high until a new call reports the balance.
create function server_history() returns text
language plpgsql
stable
set search_path = pg_catalog
as $$
begin
  if pg_is_in_recovery() then
    return null;
  end if;
  return (select system_identifier from pg_control_system())
    || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    || '/' || (select oid from pg_database where datname = current_database());
exception
  when others then
    return null;
end
$$;
comment on function server_history() is 'Returns an id for the history of this database. The id changes after a failover to a standby, a point-in-time recovery or a restore from a dump. Returns null if the server does not expose its timeline.';
