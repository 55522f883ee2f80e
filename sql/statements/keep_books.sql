-- Writes what the ledger decided: the account and its stops, calls that begin, calls that ended, and what both mean for
-- tasks, runs and prices. $1: jsonb {account_id, account, stops, cleared, costs, runs} and, for a reservation, {worker,
-- sent_at_ms, grants, reused, spent_runs}, for a settlement {calls, washed, tasks}. Whoever runs it holds the account's row.
-- Large tables are reached by arrays of keys: joined to a list alone, the planner may begin with the table once its
-- statistics say that few rows are left in question, and read all of it to find them.
with given as materialized (
  select
    it,
    (it ->> 'account_id')::bigint as account,
    array(select (c ->> 'id')::bigint from jsonb_array_elements(it -> 'calls') as c) as ended_calls,
    array(select w::bigint from jsonb_array_elements_text(it -> 'washed') as w) as washed_calls,
    array(select (t ->> 'id')::bigint from jsonb_array_elements(it -> 'tasks') as t) as judged_tasks,
    array(select (r ->> 'task')::bigint from jsonb_array_elements(it -> 'reused') as r) as reused_tasks,
    array(select s::bigint from jsonb_array_elements_text(it -> 'spent_runs') as s) as spent_runs
  from (select $1::jsonb as it) asked
),
kept as (
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
  where accounts.id = given.account
),
stopped as (
  insert into stops (account_id, reason, until, detail)
  select account, s.reason, to_timestamp(s.until_ms / 1000), s.detail
  from given, jsonb_to_recordset(it -> 'stops') as s (reason text, until_ms float8, detail text)
  on conflict (account_id, reason) where cleared_at is null
  do update set until = excluded.until, detail = excluded.detail
),
lifted as (
  update stops
  set cleared_at = clock_timestamp(), cleared_by = c.by
  from given, jsonb_to_recordset(it -> 'cleared') as c (reason text, by text)
  where stops.account_id = given.account and stops.reason = c.reason and stops.cleared_at is null
),
bought as (
  insert into calls (
    task_id, query_id, account_id, worker, sent_at, start_seq, start_total, credits_reserved, class, probe
  )
  select
    g.task,
    g.query,
    account,
    (it ->> 'worker')::bigint,
    to_timestamp((it ->> 'sent_at_ms')::float8 / 1000),
    g.seq,
    g.start_total,
    g.bound,
    g.class,
    g.probe
  from given, jsonb_to_recordset(it -> 'grants') as g (
    task bigint,
    query uuid,
    class text,
    bound integer,
    seq bigint,
    start_total bigint,
    probe boolean
  )
  order by g.seq
  returning id, task_id
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
  where calls.id = any(ended_calls) and calls.id = c.id
),
clean as (
  update calls
  set washed_at = clock_timestamp()
  from given
  where calls.id = any(washed_calls)
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
  where tasks.id = any(judged_tasks) and tasks.id = t.id
),
taken as (
  update tasks
  set state = 'reused', search_id = old.search, finished_at = clock_timestamp()
  from given, jsonb_to_recordset(it -> 'reused') as old (task bigint, search bigint)
  where tasks.id = any(reused_tasks) and tasks.id = old.task and tasks.state = 'open'
),
given_up as (
  update tasks
  set
    state = 'unaffordable',
    finished_at = clock_timestamp(),
    error_code = 'BUDGET',
    error_message = 'the budget of the run was used'
  -- Decided before any task is looked at: mostly there are no such runs.
  where cardinality((select spent_runs from given)) > 0
    and tasks.run_id = any((select spent_runs from given)::bigint[])
    and tasks.state = 'open'
    -- An answer that is there costs nothing.
    and not tasks.id = any((select reused_tasks from given)::bigint[])
    and not exists (select from calls c where c.task_id = tasks.id and c.outcome is null)
),
purses as (
  update runs
  set spent = greatest(0, runs.spent + r.spent), reserved = greatest(0, runs.reserved + r.reserved)
  from given, jsonb_to_recordset(it -> 'runs') as r (run bigint, spent bigint, reserved bigint)
  where runs.id = r.run
),
prices as (
  insert into account_costs (account_id, class, dearest, cheapest, seen, trying)
  select account, c.class, c.dearest, c.cheapest, c.seen, c.trying
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
)
select id, task_id from bought
