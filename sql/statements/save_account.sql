-- Writes what the ledger decided about an account, and the stops that begin or end with it. $1: jsonb {id, account, stop, cleared}.
with given as (
  select $1::jsonb as it
),
stopped as (
  insert into stops (account_id, reason, until, detail)
  select (it ->> 'id')::bigint, s.reason, to_timestamp(s.until_ms / 1000), s.detail
  from given, jsonb_to_recordset(it -> 'stops') as s (reason text, until_ms float8, detail text)
  on conflict (account_id, reason) where cleared_at is null
  do update set until = excluded.until, detail = excluded.detail
),
lifted as (
  update stops
  set cleared_at = clock_timestamp(), cleared_by = c.by
  from given, jsonb_to_recordset(it -> 'cleared') as c (reason text, by text)
  where stops.account_id = (it ->> 'id')::bigint and stops.reason = c.reason and stops.cleared_at is null
)
update accounts
set
  seq = n.seq,
  used_total = n.used_total,
  obs_seq = n.obs_seq,
  obs_at = to_timestamp(n.obs_at_ms / 1000),
  obs_remaining = n.obs_remaining,
  spent_since = n.spent_since,
  reserved = n.reserved,
  in_flight = n.in_flight,
  uncertain = n.uncertain,
  drained_floor = n.drained_floor,
  blind_calls = n.blind_calls,
  probe_granted = n.probe_granted,
  last_probe_at = to_timestamp(n.last_probe_at_ms / 1000),
  not_before = to_timestamp(n.not_before_ms / 1000),
  rate_next_at = to_timestamp(n.rate_next_at_ms / 1000),
  slowdowns = n.slowdowns,
  blocked_key = n.blocked_key,
  day = n.day,
  day_spent = n.day_spent
from given, jsonb_to_record(it -> 'account') as n (
  seq bigint,
  used_total bigint,
  obs_seq bigint,
  obs_at_ms float8,
  obs_remaining bigint,
  spent_since bigint,
  reserved bigint,
  in_flight integer,
  uncertain bigint,
  drained_floor bigint,
  blind_calls smallint,
  probe_granted boolean,
  last_probe_at_ms float8,
  not_before_ms float8,
  rate_next_at_ms float8,
  slowdowns integer,
  blocked_key text,
  day date,
  day_spent bigint
)
where accounts.id = (it ->> 'id')::bigint
