-- Writes the reservations of an admission decision, unless data that the decision depends on has changed.
-- Parameters: :reservation (jsonb, `Reservation` in src/core/ledger/books.ts), :trusted_after (minimum number of known
-- prices in a class), :most_given_up (maximum number of tasks to end in one statement when a run's budget is used up),
-- :lost_ms (time within which a lost answer may still arrive). Returns whether the decision was written, along with the
-- new calls and their tasks. Lock order: the preceding statements lock accounts, runs and lists, each in order of id;
-- this statement locks calls and tasks. Large tables are read by arrays of keys, because a join to the reservation
-- document may scan the whole table.
with given as materialized (
  select
    it,
    (it ->> 'account_id')::bigint as account,
    server_history() as history,
    array(select id from accounts) as accounts,
    array(
      select peer.id
      from accounts peer
      join accounts own on own.kind = peer.kind
      where own.id = (it ->> 'account_id')::bigint
    ) as peers,
    bound,
    grants,
    probe,
    array(select (r ->> 'task')::bigint from jsonb_array_elements(it -> 'reused') as r) as reused_tasks,
    array(select t::bigint from jsonb_array_elements_text(it -> 'given_up') as t) as given_up_tasks,
    array(select s::bigint from jsonb_array_elements_text(it -> 'spent_runs') as s) as spent_runs,
    array(select s::bigint from jsonb_array_elements_text(it -> 'spent_by_list') as s) as spent_by_list
  from (select :reservation::jsonb as it) asked
  cross join lateral (
    select
      coalesce(sum(g.bound), 0)::bigint as bound,
      count(*)::integer as grants,
      coalesce(bool_or(g.probe), false) as probe
    from jsonb_to_recordset(it -> 'grants') as g (bound bigint, probe boolean)
  ) granted
),
-- Finds tasks that changed after they were read, because the task ended, its run was closed, its query is now
-- in flight elsewhere, or an answer can now be reused.
changed_tasks as (
  select w.id
  from given
  cross join jsonb_to_recordset(it -> 'tasks') as w (id bigint, version text, reused boolean)
  left join tasks t on t.id = w.id
  left join runs r on r.id = t.run_id
  where t.xmin::text is distinct from w.version
    or r.state <> 'open'
    -- The calls in flight are read once. The planner expects few of them, and may read them all in the subquery below.
    or t.query_id in (select c.query_id from calls c where c.outcome is null) and exists (
      select
      from unnest(given.accounts) as buyer
      where (
        select c.task_id = t.id or c.account_id = given.account or r.max_age_ms > 0 and c.account_id = any(peers)
        from calls c
        where c.account_id = buyer and c.query_id = t.query_id and c.outcome is null
      )
    )
    or not w.reused and r.max_age_ms > 0 and exists (
      select
      from searches s
      where s.query_id = t.query_id
        and s.fetched_at > clock_timestamp() - r.max_age_ms * interval '1 millisecond'
        and (t.answers_after is null or s.fetched_at > t.answers_after)
        and s.origin = it ->> 'origin'
        and s.api = it ->> 'api'
    )
),
-- Runs with a budget (of the run or its list) that was changed, or used by another account or run,
-- after the decision.
changed_runs as (
  select w.run
  from given
  cross join jsonb_to_recordset(it -> 'runs') as w (
    run bigint, budget bigint, had_spent bigint, had_reserved bigint, list jsonb
  )
  join runs r on r.id = w.run
  join lists l on l.id = r.list_id
  where r.budget is distinct from w.budget
    or w.budget is not null and (r.spent + r.uncertain, r.reserved) is distinct from (w.had_spent, w.had_reserved)
    or l.budget is distinct from (w.list ->> 'budget')::bigint
    or l.budget is not null and exists (
      select
      from runs o
      where o.list_id = l.id and date_trunc('month', o.run_date) = date_trunc('month', r.run_date)
      having (sum(o.spent + o.uncertain), sum(o.reserved)) is distinct from
        ((w.list ->> 'spent')::numeric, (w.list ->> 'reserved')::numeric)
    )
),
-- Price classes that are now more expensive than the decision assumed.
dearer as (
  select g.class
  from given
  cross join jsonb_to_recordset(it -> 'grants') as g (class text, bound bigint)
  left join account_costs p on p.account_id = given.account and p.class = g.class
  where g.bound < greatest(p.recent_first, p.earlier_first, 1) or coalesce(p.seen, 0) < :trusted_after::integer
),
fits as materialized (
  select a.id, a.xmin::text = it ->> 'version' as same
  from given, accounts a, lateral (
    select
      a.obs_remaining - a.spent_since as newest,
      case when a.told_seq is not null then least(a.obs_remaining, a.told_least) - a.told_untold end as least
  ) told
  where a.id = given.account
    and exists (
      select from workers w
      where w.id = (it ->> 'worker')::bigint and w.stopped_at is null and w.lease_until > clock_timestamp()
    )
    and not exists (select from changed_tasks)
    and not exists (select from changed_runs)
    and (
      a.xmin::text = it ->> 'version'
      -- If `steady` is true, other workers' calls do not invalidate the decision while the balance is sufficient.
      or (
        (it ->> 'steady')::boolean
        and a.drained_floor is null
        and (a.not_before is null or a.not_before <= clock_timestamp())
        and not it ->> 'key' = any(a.blocked_keys || a.foreign_keys)
        and a.day::text = it -> 'state' ->> 'day'
        and a.month::text = it -> 'state' ->> 'month'
        and not exists (select from dearer)
      )
    )
    -- A decision made before a failover may be based on a balance that is too high.
    and (grants = 0 or probe or not (it ->> 'counts')::boolean or coalesce(a.history = given.history, true))
    -- The balance of a new key is unknown, so only the probe that reads this balance is allowed.
    and (grants = 0 or probe or not (it ->> 'counts')::boolean or a.keys = '{}' or it ->> 'key' = any(a.keys))
    and (grants = 0 or a.in_flight + grants <= coalesce((it ->> 'most_in_flight')::integer, a.in_flight + grants))
    -- Only a probe may go below the floor.
    and (
      not (it ->> 'counts')::boolean
      or grants = 0
      or probe
      or case
          -- External spend, like the cost of our calls, lowers the balance.
          when (it ->> 'external')::bigint > 0 then least(told.newest, told.least)
          else greatest(told.newest, told.least)
        end - a.reserved - a.uncertain - bound - (it ->> 'external')::bigint * (a.in_flight + grants)
        >= greatest(
          (it ->> 'floor')::float8,
          (
            select max(w.floor)::float8
            from workers w
            where w.account_id = a.id and w.stopped_at is null and w.lease_until > clock_timestamp()
          )
        )
    )
),
inserted_calls as (
  insert into calls (
    task_id, query_id, account_id, worker, mark, sent_at, start_seq, start_total, credits_reserved, class, probe,
    max_age_ms
  )
  select
    g.task,
    g.query,
    account,
    (it ->> 'worker')::bigint,
    g.mark,
    clock_timestamp(),
    a.seq + g.place,
    a.used_total,
    g.bound,
    g.class,
    g.probe,
    g.max_age_ms
  from fits
  join accounts a on a.id = fits.id
  cross join given
  cross join jsonb_to_recordset(it -> 'grants') as g (
    task bigint,
    query uuid,
    mark uuid,
    place bigint,
    class text,
    bound integer,
    probe boolean,
    max_age_ms bigint
  )
  order by g.place
  returning id, task_id
),
updated_account as (
  update accounts
  set
    seq = accounts.seq + grants,
    reserved = accounts.reserved + given.bound,
    in_flight = accounts.in_flight + grants,
    history = coalesce(given.history, accounts.history),
    history_seq = case when accounts.history <> given.history then accounts.seq else accounts.history_seq end,
    drained_floor = case when same then n.drained_floor end,
    blind_calls = case when same then n.blind_calls else accounts.blind_calls end,
    probe_granted = case when same then n.probe_granted else accounts.probe_granted end,
    last_probe_at = case when same then to_timestamp(n.last_probe_at_ms / 1000) else accounts.last_probe_at end,
    rate_next_at = case when same then to_timestamp(n.rate_next_at_ms / 1000) else accounts.rate_next_at end,
    day = case when same then n.day else accounts.day end,
    day_spent = case when same then n.day_spent else accounts.day_spent end,
    month = case when same then n.month else accounts.month end,
    month_spent = case when same then n.month_spent else accounts.month_spent end,
    month_since = case when same and n.month is distinct from accounts.month then clock_timestamp() else accounts.month_since end
  from fits, given, jsonb_to_record(it -> 'state') as n (
    drained_floor bigint,
    blind_calls smallint,
    probe_granted boolean,
    last_probe_at_ms float8,
    rate_next_at_ms float8,
    day date,
    day_spent bigint,
    month date,
    month_spent bigint
  )
  where accounts.id = fits.id
),
inserted_stops as (
  insert into stops (account_id, reason, until, detail)
  select account, s.reason, to_timestamp(s.until_ms / 1000), s.detail
  from fits, given, jsonb_to_recordset(it -> 'stops') as s (reason text, until_ms float8, detail text)
  on conflict (account_id, reason) where cleared_at is null
  do update set until = excluded.until, detail = excluded.detail
),
cleared_stops as (
  update stops
  set cleared_at = clock_timestamp(), cleared_by = c.by
  from fits, given, jsonb_to_recordset(it -> 'cleared') as c (reason text, by text)
  where stops.account_id = given.account and stops.reason = c.reason and stops.cleared_at is null
),
updated_reused_tasks as (
  update tasks
  set state = 'reused', search_id = old.search, finished_at = clock_timestamp()
  from fits, given, jsonb_to_recordset(it -> 'reused') as old (task bigint, search bigint)
  where tasks.id = any(reused_tasks) and tasks.id = old.task and tasks.state = 'open'
),
-- Tasks that the run's budget does not cover: the tasks that were read, and the run's next tasks. The number of tasks
-- is limited, because other reservations wait for this statement. Later reservations update the remaining tasks.
unaffordable_tasks as (
  select t.id
  from given
  cross join unnest(spent_runs) as run
  cross join lateral (
    select tasks.id, tasks.query_id, tasks.answers_after
    from tasks
    where tasks.run_id = run
      and tasks.state = 'open'
      and tasks.slice >= (
        select min(looked.slice) from tasks as looked where looked.id = any(given_up_tasks) and looked.run_id = run
      )
    order by tasks.slice
    limit :most_given_up::integer
  ) as t
  -- A task that can reuse an answer, or whose lost answer may still arrive, costs nothing and stays open.
  where not exists (
      select
      from calls c
      where c.task_id = t.id and c.unknown_at > clock_timestamp() - :lost_ms::float8 * interval '1 millisecond'
    )
    and not exists (
      select
      from runs r
      where r.id = run
        and r.max_age_ms > 0
        and (
          exists (
            select
            from searches s
            where s.query_id = t.query_id
              and s.fetched_at > clock_timestamp() - r.max_age_ms * interval '1 millisecond'
              and (t.answers_after is null or s.fetched_at > t.answers_after)
              and s.origin = it ->> 'origin'
              and s.api = it ->> 'api'
          )
          or exists (
            select
            from calls c
            where c.query_id = t.query_id and c.account_id = given.account and c.outcome is null
          )
        )
    )
),
updated_spent_tasks as (
  update tasks
  set
    state = 'unaffordable',
    finished_at = clock_timestamp(),
    error_code = case when tasks.run_id = any(spent_by_list) then 'LIST_BUDGET' else 'BUDGET' end,
    error_message = case
      when tasks.run_id = any(spent_by_list) then 'the list''s budget for the run''s month is used up'
      else 'the budget of the run is used up'
    end
  from given
  -- This condition comes first, because it is usually false.
  where cardinality((select spent_runs from given)) > 0
    and exists (select from fits)
    and tasks.id = any(array(select id from unaffordable_tasks) || (select given_up_tasks from given))
    and tasks.state = 'open'
    and not tasks.id = any((select reused_tasks from given)::bigint[])
    and not exists (select from calls c where c.task_id = tasks.id and c.outcome is null)
),
updated_runs as (
  update runs
  set reserved = runs.reserved + r.reserved
  from fits, given, jsonb_to_recordset(it -> 'runs') as r (run bigint, reserved bigint)
  where runs.id = r.run and r.reserved > 0
),
updated_costs as (
  insert into account_costs (account_id, class, trying)
  select account, c.class, true
  from fits, given, jsonb_array_elements_text(it -> 'trying') as c (class)
  on conflict (account_id, class) do update set trying = true
)
select
  exists (select from fits) as written,
  array(select id from inserted_calls order by id) as calls,
  array(select task_id from inserted_calls order by id) as tasks
