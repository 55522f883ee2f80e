-- Writes the outcomes of calls and what they mean for tasks, runs and prices. $1: jsonb {account_id, calls, washed, tasks, runs, costs}.
with given as (
  select $1::jsonb as it
),
ended as (
  update calls
  set
    finished_at = coalesce(calls.finished_at, clock_timestamp()),
    outcome = c.outcome,
    unknown_at = case when c.outcome = 'unknown' then coalesce(calls.unknown_at, clock_timestamp()) else calls.unknown_at end,
    http_status = coalesce(c.http_status, calls.http_status),
    credits_used = c.credits_used,
    credits_remaining = c.credits_remaining,
    error_code = c.error_code,
    error_message = c.error_message
  from given, jsonb_to_recordset(it -> 'calls') as c (
    id bigint,
    outcome text,
    http_status integer,
    credits_used integer,
    credits_remaining bigint,
    error_code text,
    error_message text
  )
  where calls.id = c.id
),
clean as (
  update calls
  set washed_at = clock_timestamp()
  from given, jsonb_array_elements_text(it -> 'washed') as w
  where calls.id = w::bigint
),
judged as (
  update tasks
  set
    state = t.state,
    search_id = coalesce(tasks.search_id, t.search_id),
    attempts = t.attempts,
    ambiguous = t.ambiguous,
    deaths = t.deaths,
    not_before = case when t.wait_ms is null then null else clock_timestamp() + t.wait_ms * interval '1 millisecond' end,
    finished_at = case when t.state = 'open' then null else clock_timestamp() end,
    error_code = t.error_code,
    error_message = t.error_message
  from given, jsonb_to_recordset(it -> 'tasks') as t (
    id bigint,
    state text,
    search_id bigint,
    attempts smallint,
    ambiguous smallint,
    deaths smallint,
    wait_ms float8,
    error_code text,
    error_message text
  )
  where tasks.id = t.id
),
purses as (
  update runs
  set spent = greatest(0, runs.spent + r.spent), reserved = greatest(0, runs.reserved + r.reserved)
  from given, jsonb_to_recordset(it -> 'runs') as r (run bigint, spent bigint, reserved bigint)
  where runs.id = r.run
)
insert into account_costs (account_id, class, dearest, cheapest, seen, trying)
select (it ->> 'account_id')::bigint, c.class, c.dearest, c.cheapest, c.seen, c.trying
from given, jsonb_to_recordset(it -> 'costs') as c (
  class text,
  dearest bigint,
  cheapest bigint,
  seen integer,
  trying boolean
)
on conflict (account_id, class) do update
set
  dearest = excluded.dearest,
  cheapest = excluded.cheapest,
  seen = excluded.seen,
  trying = excluded.trying
