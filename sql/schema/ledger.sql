-- Balances, prices, workers, every paid call, and why calls stopped.

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
comment on table accounts is 'One balance behind a key, as the ledger knows it; survives a change of key.';
comment on column accounts.id is 'Number of the account.';
comment on column accounts.name is 'MILL_ACCOUNT, or the host of the API.';
comment on column accounts.kind is 'live, test (a test key: never stops for credit) or sandbox (the bundled service).';
comment on column accounts.seq is 'Number of calls begun; orders them by their start.';
comment on column accounts.used_total is 'Credits used by all settled calls, ever.';
comment on column accounts.obs_seq is 'Start of the call whose answer told the balance: the newest started one wins.';
comment on column accounts.obs_at is 'When that call began.';
comment on column accounts.obs_remaining is 'Balance that its answer told.';
comment on column accounts.spent_since is 'Credits used by calls that ended after that call began: not surely in the balance it told.';
comment on column accounts.reserved is 'Credits set aside for calls in flight.';
comment on column accounts.in_flight is 'Calls in flight.';
comment on column accounts.uncertain is 'Credits held for calls whose outcome nobody could read, until an answer begun later tells.';
comment on column accounts.drained_floor is 'Floor at which calls last stopped for want of credit; null while credit is enough.';
comment on column accounts.blind_calls is 'Calls made, one at a time, before any balance was known.';
comment on column accounts.probe_granted is 'True when one call may be made to see the balance: after resume, or after a renewal of the plan.';
comment on column accounts.last_probe_at is 'When a single call was last let through to see the balance.';
comment on column accounts.not_before is 'No call begins before this time: the API asked to slow down.';
comment on column accounts.rate_next_at is 'When the next call may begin under the rate limit.';
comment on column accounts.slowdowns is 'Times in a row that the API asked to slow down.';
comment on column accounts.day is 'Day that day_spent counts, in the zone of the settings.';
comment on column accounts.day_spent is 'Credits used on that day, with the bound of each call whose cost is not known.';
comment on column accounts.blocked_keys is 'Fingerprints of the keys that the API refused.';
comment on column accounts.told_seq is 'Calls that had begun when told_least began to be kept: fewer than when the call behind obs_remaining began.';
comment on column accounts.told_least is 'Least balance told by answers since then; null while none told one.';
comment on column accounts.told_untold is 'Credits used since then by answers that told no balance.';
comment on column accounts.next_told_seq is 'The same from a later moment on, to take its place.';
comment on column accounts.next_told_least is 'Least balance told by answers since that later moment; null while none told one.';
comment on column accounts.next_told_untold is 'Credits used since that later moment by answers that told no balance.';
comment on column accounts.month is 'Day on which the month began that month_spent counts: that of the last renewal (MILL_RENEWAL), or the first of the calendar month, in the zone of the settings.';
comment on column accounts.month_spent is 'Credits used in that month, with the bound of each call whose cost is not known.';
comment on column accounts.month_since is 'When that month began to be counted: later than it began where this release or MILL_RENEWAL is younger.';
comment on column accounts.replay_ms is 'For how long the API gives the same answer to the same Idempotency-Key and charges it once, in milliseconds; null while it does not say so.';
comment on column accounts.history is 'The history of the database in which calls began last; null before the first.';
comment on column accounts.history_seq is 'Calls that had begun when the history became another one: a balance that one of them told is looked at anew, by one call alone, before it is believed.';
comment on column accounts.keys is 'Fingerprints of the keys whose answers told this balance. Another key is believed after one call that goes out to see its balance.';
comment on column accounts.foreign_keys is 'Fingerprints of keys whose balance cannot be that of this account; no call is made with them.';
comment on column accounts.external_ended is 'Calls that had ended when the stretch of calls began that external spend is measured over.';
comment on column accounts.external_base is 'Greatest balance and bills together that were told in that stretch: what is missing from it later was spent without a bill.';
comment on column accounts.external_now is 'Credits that the balance fell for each call of the stretch beyond what bills say: by others, or by bills that are missing or too low.';
comment on column accounts.external_last is 'The same of the stretch before; null before the first is whole.';
comment on column accounts.wrong_answers is 'Answers that named another query than the one that was sent. After the first one, an answer repeated for an Idempotency-Key is not trusted.';

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
comment on table account_costs is 'What calls of each kind have cost so far: the bound for the next ones.';
comment on column account_costs.account_id is 'The account.';
comment on column account_costs.class is 'Number of results and device, the parameters that prices depend on.';
comment on column account_costs.dearest is 'Greatest cost seen; null before the first.';
comment on column account_costs.cheapest is 'Smallest cost seen; null before the first.';
comment on column account_costs.seen is 'Prices seen; from thirty on the greatest of the last ones is trusted as a bound.';
comment on column account_costs.trying is 'True while the one call of a kind never seen before is in flight.';
comment on column account_costs.recent_first is 'Greatest of the prices heard last.';
comment on column account_costs.recent_second is 'The next greatest of them; the same when the greatest came twice.';
comment on column account_costs.recent_count is 'How many those are; at thirty they become the earlier ones.';
comment on column account_costs.earlier_first is 'Greatest of the thirty or more prices before the recent ones.';
comment on column account_costs.earlier_second is 'The next greatest of them; the same when the greatest came twice.';
comment on column account_costs.earlier_count is 'How many those are.';

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
comment on table workers is 'Processes that buy answers, each with a lease on the clock of the database.';
comment on column workers.id is 'Number of the worker.';
comment on column workers.account_id is 'The account it spends from.';
comment on column workers.host is 'The machine it runs on.';
comment on column workers.pid is 'Its process number there.';
comment on column workers.key is 'Fingerprint of the key that it buys with.';
comment on column workers.floor is 'Credits that must stay by its settings; in force is the highest among live workers.';
comment on column workers.concurrency is 'Calls it may have in flight.';
comment on column workers.started_at is 'When it began.';
comment on column workers.lease_until is 'Until when its calls in flight are its own; past it, anybody may declare them lost.';
comment on column workers.stopped_at is 'When it ended in good order; null while it lives, or when it died.';

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
comment on table calls is 'The ledger: one row for each paid request that was sent, or reserved and released unsent.';
comment on column calls.id is 'Number of the call.';
comment on column calls.task_id is 'The task it served.';
comment on column calls.query_id is 'The query it asked.';
comment on column calls.account_id is 'The account it was paid from.';
comment on column calls.worker is 'The worker that made it.';
comment on column calls.sent_at is 'When it was reserved, a moment before it was sent.';
comment on column calls.finished_at is 'When its outcome was written down.';
comment on column calls.unknown_at is 'When it was given up as unreadable.';
comment on column calls.washed_at is 'When an answer begun late enough showed the balance with its cost in it: nothing is held for it any more.';
comment on column calls.start_seq is 'Its place among all calls of the account, by start.';
comment on column calls.start_total is 'used_total of the account when it began.';
comment on column calls.credits_remaining is 'Balance that its answer told.';
comment on column calls.credits_reserved is 'Credits set aside for it; held while outcome is null, and while it is unknown and washed_at is null.';
comment on column calls.credits_used is 'Credits that its answer says it used; null when nobody knows.';
comment on column calls.http_status is 'Status of the response, when there was one.';
comment on column calls.outcome is 'settled, unknown (perhaps charged), unsent (released without being sent); null while in flight.';
comment on column calls.probe is 'True when it was let through alone to see the balance.';
comment on column calls.class is 'Number of results and device, the parameters that prices depend on.';
comment on column calls.error_code is 'What went wrong, as one word.';
comment on column calls.error_message is 'What went wrong, in a sentence.';
comment on column calls.mark is 'Random mark, made by the worker before it asked for the call: an answer names its call by number and mark, since a database that was set back gives numbers out anew. Null for calls of older versions, and of queries that were forgotten.';
comment on column calls.max_age_ms is 'An answer younger than this many milliseconds would have been taken instead of this call; null for calls begun before this was written down.';
comment on column calls.estimated is 'True when its answer named no price: credits_used is what the balance fell.';
comment on column calls.asked_again is 'How often its answer was asked for again with its mark as the key, after it was lost.';
comment on column calls.asked_again_at is 'When it was asked for again the last time.';

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
comment on table stops is 'Why an account stands or stood still.';
comment on column stops.id is 'Number of the stop.';
comment on column stops.account_id is 'The account.';
comment on column stops.reason is 'credit_floor, budget (of the day), auth (the key was refused), rate (told to slow down) or unreachable.';
comment on column stops.since is 'When it began.';
comment on column stops.until is 'When it ends by itself, if that is known.';
comment on column stops.detail is 'What was seen, in a sentence.';
comment on column stops.cleared_at is 'When it was lifted; null while it stands.';
comment on column stops.cleared_by is 'What lifted it: observation, resume, renewal, key, day or time.';

create function ledger_changed() returns boolean
language plpgsql as $$
begin
  raise exception 'the books changed meanwhile' using errcode = 'QM001';
end
$$;
comment on function ledger_changed() is 'Ends a statement of the ledger whose decision rests on what is no longer so: it is made again from what is there.';

-- A balance is believed on the history of the server on which it was told. A standby that takes over may lack the calls
-- that began last: what it believes of the balance is greater than the truth, until a call of its own time tells another.
-- Only names the history: a server that does not say these things has one.
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
comment on function server_history() is 'Names the history of this database: another one after a standby took over, after a recovery to a point in time, and where it was restored from a dump. Null where the server does not tell.';
