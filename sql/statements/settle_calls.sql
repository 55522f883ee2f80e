-- Writes what calls that ended mean for the account, for what they cost, and for tasks and runs: the same rules as `apply`
-- in test/core/ledger/settle-model.ts, which a test holds to them. The account and the runs are locked by the statement before it.
-- $1: jsonb {account_id, key, floor, jitter, grace_ms, trusted_after, change, prices, stops, calls, tasks, runs}, calls
-- and tasks by their numbers. Fails with QM001 when a call or a task is not as it was read: what they mean is worked out
-- again then. Each row finds what is said of it by its number: joined, every row would meet every line of the document.
with given as materialized (
  select
    it,
    it -> 'change' as change,
    (it ->> 'account_id')::bigint as account,
    it -> 'calls' as endings,
    it -> 'tasks' as judgements,
    array(select id::bigint from jsonb_object_keys(it -> 'calls') as id) as ended_calls,
    array(select id::bigint from jsonb_object_keys(it -> 'tasks') as id) as judged_tasks
  from (select $1::jsonb as it) asked
),
changed as (
  select
  from given
  cross join jsonb_each(endings) as c (id, known)
  left join calls on calls.id = c.id::bigint
  where calls.id is null
    -- Set back since it was read, the database may have given the number to a call for another query.
    or calls.mark is distinct from (known ->> 'mark')::uuid
    or calls.outcome is distinct from known ->> 'was'
    or (calls.washed_at is not null) <> (known ->> 'was_washed')::boolean
    or calls.credits_reserved <> (known ->> 'bound')::integer
  union all
  select
  from given
  cross join jsonb_each(judgements) as t (id, known)
  left join tasks on tasks.id = t.id::bigint
  where tasks.xmin::text is distinct from known ->> 'version'
),
-- The newest start wins: not the newest arrival, not the smallest balance, not the greatest.
looked as materialized (
  select
    a.*,
    n.seq as newest_seq,
    n.seq is not null and n.seq > coalesce(a.obs_seq, 0) as newer,
    n.started_at_ms,
    n.start_total,
    n.used,
    n.remaining,
    a.used_total + (change ->> 'used')::bigint as used_after,
    least(a.told_least, (change ->> 'least')::bigint) as told_after,
    a.told_untold + (change ->> 'untold')::bigint as untold_after,
    least(a.next_told_least, (change ->> 'least')::bigint) as next_told_after,
    a.next_told_untold + (change ->> 'untold')::bigint as next_untold_after
  from given
  join accounts a on a.id = given.account
  cross join jsonb_to_record(nullif(change -> 'newest', 'null')) as n (
    seq bigint, started_at_ms float8, start_total bigint, used bigint, remaining bigint
  )
),
-- The API says that credit is used up: nothing is proved to be left, unless a call begun later saw some.
seen as materialized (
  select
    looked.*,
    d.seq as drained_seq,
    d.drained,
    case when d.drained then d.seq when newer then newest_seq else obs_seq end as seen_seq,
    case
      when d.drained then to_timestamp(d.started_at_ms / 1000)
      when newer then to_timestamp(looked.started_at_ms / 1000)
      else obs_at
    end as seen_at,
    case when d.drained then 0 when newer then remaining else obs_remaining end as seen_remaining,
    newer and (next_told_seq is null or newest_seq > next_told_seq) as turned
  from given
  cross join looked
  cross join lateral (
    select
      n.seq,
      n.started_at_ms,
      n.seq is not null
        and n.seq >= greatest(looked.obs_seq, case when looked.newer then looked.newest_seq end, 0) as drained
    from jsonb_to_record(nullif(change -> 'no_credit', 'null')) as n (seq bigint, started_at_ms float8)
  ) d
),
-- A burst of refusals counts once: only a call begun after the last wait ended makes the next one longer.
slower as materialized (
  select
    s.started_at_ms is not null as told,
    turns.slowdowns,
    clock_timestamp() + interval '1 millisecond' * greatest(
      1000,
      s.wait_ms,
      case
        when s.unnamed then
          least(60000, 1000 * 2 ^ least(greatest(0, turns.slowdowns - 1), 10)) * (1 + (it ->> 'jitter')::float8 / 4)
      end
    ) as until
  from given
  cross join seen
  cross join jsonb_to_record(nullif(change -> 'slow_down', 'null')) as s (started_at_ms float8, wait_ms float8, unnamed boolean)
  cross join lateral (
    select
      case
        when seen.not_before is not null and to_timestamp(s.started_at_ms / 1000) < seen.not_before then seen.slowdowns
        else seen.slowdowns + 1
      end as slowdowns
  ) turns
),
learnt as materialized (
  select
    p.class,
    case when p.heard > 0 then greatest(o.dearest, p.first) else o.dearest end as dearest,
    case when p.heard > 0 then least(o.cheapest, p.cheapest) else o.cheapest end as cheapest,
    coalesce(o.seen, 0) + p.heard as seen,
    coalesce(o.trying, false) and p.heard = 0 and not p.tried as trying,
    -- The two greatest of those before and those now.
    greatest(coalesce(o.recent_first, 0), p.first) as first,
    greatest(least(coalesce(o.recent_first, 0), p.first), coalesce(o.recent_second, 0), p.second) as second,
    coalesce(o.recent_count, 0) + p.heard as count,
    p.heard > 0 and coalesce(o.recent_count, 0) + p.heard >= (it ->> 'trusted_after')::integer as filled,
    coalesce(o.earlier_first, 0) as earlier_first,
    coalesce(o.earlier_second, 0) as earlier_second,
    coalesce(o.earlier_count, 0) as earlier_count
  from given
  cross join jsonb_to_recordset(it -> 'prices') as p (
    class text, first bigint, second bigint, heard integer, cheapest bigint, tried boolean
  )
  left join account_costs o on o.account_id = given.account and o.class = p.class
),
prices as (
  insert into account_costs (
    account_id, class, dearest, cheapest, seen, trying, recent_first, recent_second, recent_count,
    earlier_first, earlier_second, earlier_count
  )
  select
    account, class, dearest, cheapest, seen, trying,
    case when filled then 0 else first end,
    case when filled then 0 else second end,
    case when filled then 0 else count end,
    case when filled then first else earlier_first end,
    case when filled then second else earlier_second end,
    case when filled then count else earlier_count end
  from given, learnt
  on conflict (account_id, class) do update
  set
    dearest = excluded.dearest,
    cheapest = excluded.cheapest,
    seen = excluded.seen,
    trying = excluded.trying,
    recent_first = excluded.recent_first,
    recent_second = excluded.recent_second,
    recent_count = excluded.recent_count,
    earlier_first = excluded.earlier_first,
    earlier_second = excluded.earlier_second,
    earlier_count = excluded.earlier_count
),
bounds as materialized (
  select
    coalesce(l.class, o.class) as class,
    coalesce(l.seen, o.seen) as seen,
    greatest(
      1,
      coalesce(l.first, o.recent_first),
      -- Prices that have just become the earlier ones push those before them out.
      case when l.filled then 0 else coalesce(l.earlier_first, o.earlier_first) end
    ) as bound
  from given
  join account_costs o on o.account_id = given.account
  full join learnt l on l.class = o.class
),
-- Credits held for calls that were given up: those with an answer begun late enough are in its balance, and for those
-- that were lost before their price was known no more is held than such calls cost.
held as materialized (
  select
    c.id,
    c.credits_reserved,
    tasks.run_id,
    case
      when c.unknown_at + (it ->> 'grace_ms')::float8 * interval '1 millisecond' <= seen_at then 0
      when bounds.seen >= (it ->> 'trusted_after')::integer then least(c.credits_reserved, bounds.bound)
      else c.credits_reserved
    end as bound,
    coalesce(c.unknown_at + (it ->> 'grace_ms')::float8 * interval '1 millisecond' <= seen_at, false) as washed
  from given
  cross join seen
  join calls c on c.account_id = seen.id and c.outcome = 'unknown' and c.washed_at is null
  join tasks on tasks.id = c.task_id
  left join bounds on bounds.class = c.class
  where seen.uncertain > 0 and not c.id = any(ended_calls)
),
cleaned as (
  update calls
  set
    washed_at = case when held.washed then clock_timestamp() end,
    credits_reserved = case when held.washed then calls.credits_reserved else held.bound end
  from held
  where calls.id = held.id and (held.washed or held.bound < held.credits_reserved)
),
kept as (
  update accounts
  set
    used_total = used_after,
    obs_seq = seen_seq,
    obs_at = seen_at,
    obs_remaining = seen_remaining,
    spent_since = case
      when newer then used_after - start_total - used
      else accounts.spent_since + (change ->> 'used')::bigint
    end,
    told_seq = case when turned then seen.next_told_seq else seen.told_seq end,
    told_least = case when turned then next_told_after else told_after end,
    told_untold = case when turned then next_untold_after else untold_after end,
    next_told_seq = case when turned then accounts.seq else seen.next_told_seq end,
    next_told_least = case when turned then null else next_told_after end,
    next_told_untold = case when turned then 0 else next_untold_after end,
    reserved = accounts.reserved + (change ->> 'reserved')::bigint,
    in_flight = accounts.in_flight + (change ->> 'in_flight')::integer,
    uncertain = accounts.uncertain + (change ->> 'uncertain')::bigint
      - (select coalesce(sum(credits_reserved - bound), 0) from held),
    drained_floor = case
      when drained then greatest((it ->> 'floor')::bigint, (
        select max(w.floor) from workers w
        where w.account_id = seen.id and w.stopped_at is null and w.lease_until > clock_timestamp()
      ))
      else accounts.drained_floor
    end,
    blind_calls = case when drained or newer then 0 else accounts.blind_calls end,
    blocked_keys = case
      when change -> 'refused_keys' = '[]' then accounts.blocked_keys
      -- All of them: a key that were left out would be tried again and again.
      else array(
        select jsonb_array_elements_text(change -> 'refused_keys')
        union
        select unnest(accounts.blocked_keys)
      )
    end,
    slowdowns = case
      when slower.told then slower.slowdowns
      when (change ->> 'welcome')::boolean then 0
      else accounts.slowdowns
    end,
    not_before = case when slower.told then greatest(accounts.not_before, slower.until) else accounts.not_before end,
    day_spent = accounts.day_spent + (change ->> 'day_spent')::bigint,
    month_spent = accounts.month_spent + (change ->> 'day_spent')::bigint
  from given, seen, slower
  where accounts.id = seen.id
  returning accounts.id, accounts.not_before, accounts.blocked_keys
),
stopped as (
  insert into stops (account_id, reason, until, detail)
  select kept.id, s.reason, case when s.reason = 'rate' then kept.not_before end, s.detail
  from kept, given, jsonb_to_recordset(it -> 'stops') as s (reason text, detail text)
  on conflict (account_id, reason) where cleared_at is null
  do update set until = excluded.until, detail = excluded.detail
),
-- A key that is not refused was answered: the account goes on with it.
lifted as (
  update stops
  set cleared_at = clock_timestamp(), cleared_by = 'key'
  from kept, given
  where (change ->> 'welcome')::boolean
    and not it ->> 'key' = any(kept.blocked_keys)
    and stops.account_id = kept.id
    and stops.reason = 'auth'
    and stops.cleared_at is null
),
ended as (
  update calls
  set
    -- A call that was asked for again may have been charged as late as that.
    finished_at = case
      when calls.asked_again > 0 and endings -> calls.id::text ->> 'outcome' = 'settled' then clock_timestamp()
      else coalesce(calls.finished_at, clock_timestamp())
    end,
    (outcome, unknown_at, http_status, credits_used, credits_remaining, error_code, error_message) = (
      select
        c ->> 'outcome',
        case when c ->> 'outcome' = 'unknown' then coalesce(calls.unknown_at, clock_timestamp()) else calls.unknown_at end,
        coalesce((c ->> 'http_status')::integer, calls.http_status),
        (c ->> 'credits_used')::integer,
        (c ->> 'credits_remaining')::bigint,
        c ->> 'error_code',
        c ->> 'error_message'
      from (select endings -> calls.id::text as c offset 0) found
    )
  from given
  where calls.id = any(ended_calls)
),
judged as (
  update tasks
  set (state, search_id, attempts, ambiguous, deaths, not_before, finished_at, error_code, error_message) = (
    select
      t ->> 'state',
      coalesce(tasks.search_id, (t ->> 'search_id')::bigint),
      (t ->> 'attempts')::smallint,
      (t ->> 'ambiguous')::smallint,
      (t ->> 'deaths')::smallint,
      clock_timestamp() + (t ->> 'wait_ms')::float8 * interval '1 millisecond',
      case when t ->> 'state' = 'open' then null else clock_timestamp() end,
      t ->> 'error_code',
      t ->> 'error_message'
    from (select judgements -> tasks.id::text as t offset 0) found
  )
  from given
  where tasks.id = any(judged_tasks)
),
purses as (
  update runs
  set spent = greatest(0, runs.spent + r.spent), reserved = greatest(0, runs.reserved + r.reserved)
  from (
    select run, sum(spent) as spent, sum(reserved) as reserved
    from (
      select r.run, r.spent, r.reserved
      from given, jsonb_to_recordset(it -> 'runs') as r (run bigint, spent bigint, reserved bigint)
      union all
      -- Less is held, and what is in a balance stays spent.
      select run_id, bound - credits_reserved, 0
      from held
      where not washed
    ) both_ways
    group by run
  ) r
  where runs.id = r.run and (r.spent <> 0 or r.reserved <> 0)
)
select case when exists (select from changed) then ledger_changed() else true end as written
