-- Writes a reservation: calls, the account, the purses of runs. $1: jsonb {account_id, worker, sent_at_ms, grants, runs, trying, reused, spent_runs}.
with given as (
  select $1::jsonb as it
),
grants as (
  select g.*
  from given,
  jsonb_to_recordset(it -> 'grants') as g (
    task bigint,
    query uuid,
    class text,
    bound integer,
    seq bigint,
    start_total bigint,
    probe boolean
  )
),
bought as (
  insert into calls (
    task_id, query_id, account_id, worker, sent_at, start_seq, start_total, credits_reserved, class, probe
  )
  select
    g.task,
    g.query,
    (it ->> 'account_id')::bigint,
    (it ->> 'worker')::bigint,
    to_timestamp((it ->> 'sent_at_ms')::float8 / 1000),
    g.seq,
    g.start_total,
    g.bound,
    g.class,
    g.probe
  from given, grants g
  order by g.seq
  returning id, task_id
),
purses as (
  update runs
  set reserved = runs.reserved + held.bound
  from given, jsonb_to_recordset(it -> 'runs') as held (run bigint, bound bigint)
  where runs.id = held.run
),
tried as (
  insert into account_costs (account_id, class, trying)
  select (it ->> 'account_id')::bigint, class, true
  from given, jsonb_array_elements_text(it -> 'trying') as class
  on conflict (account_id, class) do update set trying = true
),
taken as (
  update tasks
  set state = 'reused', search_id = old.search, finished_at = clock_timestamp()
  from given, jsonb_to_recordset(it -> 'reused') as old (task bigint, search bigint)
  where tasks.id = old.task and tasks.state = 'open'
),
given_up as (
  update tasks
  set
    state = 'unaffordable',
    finished_at = clock_timestamp(),
    error_code = 'BUDGET',
    error_message = 'the budget of the run was used'
  from given, jsonb_array_elements_text(it -> 'spent_runs') as spent
  where tasks.run_id = spent::bigint
    and tasks.state = 'open'
    and not exists (select from calls c where c.task_id = tasks.id and c.outcome is null)
)
select id, task_id from bought
