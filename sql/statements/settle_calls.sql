-- Settles calls by writing the effects of finished calls on their account, prices, tasks and runs.
-- A test compares this statement with the same rules in TypeScript (`apply` in
-- test/core/ledger/settle-model.ts). Parameters: :settlement (jsonb, `Settlement` in
-- src/core/ledger/settle.ts, with calls and tasks by id), and constants of
-- src/core/ledger/account.ts: :grace_ms, :trusted_after, :slowdown_ms, :longest_slowdown_ms,
-- :first_external_calls, :external_calls, :oldest_sighting_ms. Fails with QM001 if a call or a task
-- has changed since it was read. The caller then computes the settlement again. Lock order: the
-- preceding statements lock facts, then the account, then its runs in order of id; this statement
-- locks calls and tasks. Each row looks up its entry in the document by id, because a join
-- would compare every row with every entry.
with given as materialized (
  select
    it,
    it -> 'change' as change,
    (it ->> 'account_id')::bigint as account,
    it -> 'calls' as endings,
    it -> 'tasks' as judgements,
    array(select id::bigint from jsonb_object_keys(it -> 'calls') as id) as ended_calls,
    array(select id::bigint from jsonb_object_keys(it -> 'tasks') as id) as judged_tasks
  from (select :settlement::jsonb as it) asked
),
changed as (
  select
  from given
  cross join jsonb_each(endings) as c (id, known)
  left join calls on calls.id = c.id::bigint
  where calls.id is null
    -- A database restored in the meantime may have assigned this id to a call for another query.
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
-- Checks a key when its balance is first reported. If that balance is possible for this account, the
-- new key belongs to the account. Otherwise, the new key replaces the earlier key. If the earlier
-- key is still in use, the new key is foreign, and its balances are ignored.
key_check as materialized (
  select
    is_known,
    not is_known and told_balance between low and high as is_same,
    coalesce(
      not is_known
      and not told_balance between low and high
      and a.obs_at > clock_timestamp() - :oldest_sighting_ms::float8 * interval '1 millisecond'
      and exists (
        select
        from workers w
        where w.account_id = a.id
          and w.key = any(a.keys)
          and w.key <> it ->> 'key'
          and not w.key = any(a.blocked_keys)
          and w.stopped_at is null
          and w.lease_until > clock_timestamp()
      ),
      false
    ) as is_foreign,
    told_balance
  from given
  join accounts a on a.id = given.account
  cross join lateral (
    select
      a.keys = '{}' or it ->> 'key' = any(a.keys) as is_known,
      coalesce(
        (change -> 'newest' ->> 'remaining')::bigint,
        case when change -> 'no_credit' <> 'null' then 0 end
      ) as told_balance,
      -- The lowest balance, as in lowestBalance in account.ts.
      case when a.external_now > 0 or a.external_last > 0
        then least(newest, told)
        else greatest(newest, told)
      end - a.reserved - a.uncertain - (change ->> 'used')::bigint as low,
      a.obs_remaining + a.reserved + a.uncertain + a.used_total + (change ->> 'used')::bigint
        - coalesce((change -> 'newest' ->> 'start_total')::bigint, a.used_total) as high
    from (
      select
        a.obs_remaining - a.spent_since as newest,
        case when a.told_seq is not null then least(a.obs_remaining, a.told_least) - a.told_untold end as told
    ) proved
  ) bounds
),
-- The balance reported by the call that started last is used, even if another balance arrives later.
account_before as materialized (
  select
    a.*,
    n.seq as newest_seq,
    not is_foreign and n.seq is not null and n.seq > coalesce(a.obs_seq, 0) as newer,
    is_known,
    is_foreign,
    is_same,
    told_balance,
    n.started_at_ms,
    n.start_total,
    n.used,
    n.remaining,
    a.used_total + (change ->> 'used')::bigint as used_after,
    least(a.told_least, case when not is_foreign then (change ->> 'least')::bigint end) as told_after,
    a.told_untold + untold_used as untold_after,
    least(a.next_told_least, case when not is_foreign then (change ->> 'least')::bigint end) as next_told_after,
    a.next_told_untold + untold_used as next_untold_after
  from given
  cross join key_check
  join accounts a on a.id = given.account
  -- Balances reported for a foreign API key are ignored, so the account's balance never includes the cost of answers
  -- bought with that key.
  cross join lateral (
    select (change ->> case when is_foreign then 'used' else 'untold' end)::bigint as untold_used
  ) untold
  cross join jsonb_to_record(nullif(change -> 'newest', 'null')) as n (
    seq bigint, started_at_ms float8, start_total bigint, used bigint, remaining bigint
  )
),
-- If the API reported that no credits were left, the balance is 0, unless a call that started later reported a balance.
balance_after as materialized (
  select
    account_before.*,
    d.seq as drained_seq,
    d.drained,
    case when d.drained then d.seq when newer then newest_seq else obs_seq end as seen_seq,
    case
      when d.drained then to_timestamp(d.started_at_ms / 1000)
      when newer then to_timestamp(account_before.started_at_ms / 1000)
      else obs_at
    end as seen_at,
    case when d.drained then 0 when newer then remaining else obs_remaining end as seen_remaining,
    newer and (next_told_seq is null or newest_seq > next_told_seq) as turned,
    -- If credits were added to an account at its floor, earlier balances are no longer used.
    newer and account_before.drained_floor is not null and remaining > obs_remaining as risen
  from given
  cross join account_before
  cross join lateral (
    select
      n.seq,
      n.started_at_ms,
      not is_foreign and n.seq is not null
        and n.seq >= greatest(account_before.obs_seq, case when account_before.newer then account_before.newest_seq end, 0) as drained
    from jsonb_to_record(nullif(change -> 'no_credit', 'null')) as n (seq bigint, started_at_ms float8)
  ) d
),
-- A burst of 429 responses counts once: only a call that started after the last wait makes the next wait longer.
rate_pause as materialized (
  select
    s.started_at_ms is not null as told,
    turns.slowdowns,
    clock_timestamp() + interval '1 millisecond' * greatest(
      :slowdown_ms::float8,
      s.wait_ms,
      case
        when s.unnamed then
          least(
            :longest_slowdown_ms::float8,
            :slowdown_ms::float8 * 2 ^ least(greatest(0, turns.slowdowns - 1), 10)
          ) * (1 + (it ->> 'jitter')::float8 / 4)
      end
    ) as until
  from given
  cross join balance_after
  cross join jsonb_to_record(nullif(change -> 'slow_down', 'null')) as s (started_at_ms float8, wait_ms float8, unnamed boolean)
  cross join lateral (
    select
      case
        when balance_after.not_before is not null and to_timestamp(s.started_at_ms / 1000) < balance_after.not_before then balance_after.slowdowns
        else balance_after.slowdowns + 1
      end as slowdowns
  ) turns
),
new_costs as materialized (
  select
    p.class,
    case when p.count > 0 then greatest(o.dearest, p.first) else o.dearest end as dearest,
    case when p.count > 0 then least(o.cheapest, p.cheapest) else o.cheapest end as cheapest,
    coalesce(o.seen, 0) + p.count as seen,
    coalesce(o.trying, false) and p.count = 0 and not p.tried as trying,
    greatest(coalesce(o.recent_first, 0), p.first) as first,
    greatest(least(coalesce(o.recent_first, 0), p.first), coalesce(o.recent_second, 0), p.second) as second,
    coalesce(o.recent_count, 0) + p.count as count,
    p.count > 0 and coalesce(o.recent_count, 0) + p.count >= :trusted_after::integer as filled,
    coalesce(o.earlier_first, 0) as earlier_first,
    coalesce(o.earlier_second, 0) as earlier_second,
    coalesce(o.earlier_count, 0) as earlier_count
  from given
  cross join jsonb_to_recordset(change -> 'prices') as p (
    class text, first bigint, second bigint, count integer, cheapest bigint, tried boolean
  )
  left join account_costs o on o.account_id = given.account and o.class = p.class
),
updated_costs as (
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
  from given, new_costs
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
    coalesce(l.dearest, o.dearest) as dearest,
    greatest(
      1,
      coalesce(l.first, o.recent_first),
      case when l.filled then 0 else coalesce(l.earlier_first, o.earlier_first) end
    ) as bound
  from given
  join account_costs o on o.account_id = given.account
  full join new_costs l on l.class = o.class
),
-- Credits held for calls with an unknown outcome. A balance from a call that started long enough after a lost call
-- includes the lost call's cost. Until such a balance is reported, each call holds at most its class's current price.
held as materialized (
  select
    c.id,
    c.credits_reserved,
    tasks.run_id,
    case
      when c.unknown_at + :grace_ms::float8 * interval '1 millisecond' <= seen_at then 0
      when bounds.seen >= :trusted_after::integer then least(c.credits_reserved, bounds.bound)
      else c.credits_reserved
    end as bound,
    coalesce(c.unknown_at + :grace_ms::float8 * interval '1 millisecond' <= seen_at, false) as washed
  from given
  cross join balance_after
  join calls c on c.account_id = balance_after.id and c.outcome = 'unknown' and c.washed_at is null
  join tasks on tasks.id = c.task_id
  left join bounds on bounds.class = c.class
  where balance_after.uncertain > 0 and not c.id = any(ended_calls)
),
updated_held_calls as (
  update calls
  set
    washed_at = case when held.washed then clock_timestamp() end,
    credits_reserved = case when held.washed then calls.credits_reserved else held.bound end
  from held
  where calls.id = held.id and (held.washed or held.bound < held.credits_reserved)
),
-- Only external spend lowers the sum of the balance and all billed credits. A call whose cost is
-- not known yet may have cost as much as its reservation, but no more than the most expensive call
-- so far.
external as materialized (
  select
    newer and is_known and external_ended is not null as measured,
    ended - external_ended >= greatest(:external_calls::integer, 4 * in_flight) as whole,
    case
      when ended - external_ended >= :first_external_calls::integer
        then least(1000000, ceil(greatest(0, missing)::numeric / (ended - external_ended)))::integer
      else external_now
    end as per_call,
    ended,
    top
  from (
    select
      balance_after.*,
      seq - in_flight - (change ->> 'in_flight')::integer as ended,
      remaining + start_total + used as top,
      greatest(external_base, remaining + start_total + used) - remaining - used_after
        - least(
          reserved + (change ->> 'reserved')::bigint,
          (in_flight + (change ->> 'in_flight')::integer) * (select max(dearest) from bounds)
        )
        - (uncertain + (change ->> 'uncertain')::bigint) as missing
    from given, balance_after
  ) stretch
),
updated_account as (
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
    told_seq = case when risen then null when turned then balance_after.next_told_seq else balance_after.told_seq end,
    told_least = case when risen then null when turned then next_told_after else told_after end,
    told_untold = case when risen then 0 when turned then next_untold_after else untold_after end,
    next_told_seq = case when turned or risen then accounts.seq else balance_after.next_told_seq end,
    next_told_least = case when turned or risen then null else next_told_after end,
    next_told_untold = case when turned or risen then 0 else next_untold_after end,
    reserved = accounts.reserved + (change ->> 'reserved')::bigint,
    in_flight = accounts.in_flight + (change ->> 'in_flight')::integer,
    uncertain = accounts.uncertain + (change ->> 'uncertain')::bigint
      - (select coalesce(sum(credits_reserved - bound), 0) from held),
    drained_floor = case
      when drained then greatest((it ->> 'floor')::bigint, (
        select max(w.floor) from workers w
        where w.account_id = balance_after.id and w.stopped_at is null and w.lease_until > clock_timestamp()
      ))
      else accounts.drained_floor
    end,
    blind_calls = case when drained or newer then 0 else accounts.blind_calls end,
    -- Probing is permitted until a probe, rather than an earlier call, reports the balance.
    probe_granted = accounts.probe_granted and not coalesce((drained or newer) and seen_at >= accounts.last_probe_at, false),
    keys = case
      when told_balance is null or is_foreign then accounts.keys
      when is_known then case when accounts.keys = '{}' and (newer or drained) then array[it ->> 'key'] else accounts.keys end
      when is_same then accounts.keys || array[it ->> 'key']
      when newer or drained then array[it ->> 'key']
      else accounts.keys
    end,
    foreign_keys = case when is_foreign then accounts.foreign_keys || array[it ->> 'key'] else accounts.foreign_keys end,
    external_ended = case when newer and (not measured or whole) then ended else accounts.external_ended end,
    external_base = case
      when newer and (not measured or whole) then top
      when newer then greatest(accounts.external_base, top)
      else accounts.external_base
    end - (select coalesce(sum(credits_reserved) filter (where washed), 0) from held),
    external_now = case when measured then per_call when newer then 0 else accounts.external_now end,
    external_last = case
      when measured and whole then per_call
      when newer and not measured then null
      else accounts.external_last
    end,
    wrong_answers = accounts.wrong_answers + (change ->> 'wrong_answers')::integer,
    replay_ms = case when (change ->> 'wrong_answers')::integer = 0 then accounts.replay_ms end,
    blocked_keys = case
      when change -> 'refused_keys' = '[]' then accounts.blocked_keys
      -- All refused keys are stored, because a key that is not stored would be tried repeatedly.
      else array(
        select jsonb_array_elements_text(change -> 'refused_keys')
        union
        select unnest(accounts.blocked_keys)
      )
    end,
    slowdowns = case
      when rate_pause.told then rate_pause.slowdowns
      when (change ->> 'welcome')::boolean then 0
      else accounts.slowdowns
    end,
    not_before = case when rate_pause.told then greatest(accounts.not_before, rate_pause.until) else accounts.not_before end,
    day_spent = accounts.day_spent + (change ->> 'day_spent')::bigint,
    month_spent = accounts.month_spent + (change ->> 'day_spent')::bigint
  from given, balance_after, rate_pause, external
  where accounts.id = balance_after.id
  returning accounts.id, accounts.not_before, accounts.blocked_keys
),
inserted_stops as (
  insert into stops (account_id, reason, until, detail)
  select updated_account.id, s.reason, case when s.reason = 'rate' then updated_account.not_before end, s.detail
  from updated_account, given, lateral (
    select reason, detail from jsonb_to_recordset(it -> 'stops') as s (reason text, detail text)
    union all
    select
      'auth',
      format(
        'a second key reports a balance of %s credits, which cannot be the balance of this account; set MILL_ACCOUNT to another name where that key is used',
        told_balance
      )
    from key_check
    where is_foreign and not it -> 'stops' @> '[{"reason": "auth"}]'
  ) as s
  on conflict (account_id, reason) where cleared_at is null
  do update set until = excluded.until, detail = excluded.detail
),
-- The API has answered a call made with this key, so the stop is cleared.
cleared_stops as (
  update stops
  set cleared_at = clock_timestamp(), cleared_by = 'key'
  from updated_account, given
  where (change ->> 'welcome')::boolean
    and not it ->> 'key' = any(updated_account.blocked_keys)
    and not exists (select from key_check where is_foreign)
    and stops.account_id = updated_account.id
    and stops.reason = 'auth'
    and stops.cleared_at is null
),
updated_calls as (
  update calls
  set
    -- A repeated call may have been charged at any time up to now. The end time of a call must not be before its start
    -- time, even if the database clock was set back.
    finished_at = greatest(calls.sent_at, case
      when calls.asked_again > 0 and endings -> calls.id::text ->> 'outcome' = 'settled' then clock_timestamp()
      else coalesce(calls.finished_at, clock_timestamp())
    end),
    (outcome, estimated, unknown_at, http_status, credits_used, credits_remaining, error_code, error_message) = (
      select
        c ->> 'outcome',
        coalesce((c ->> 'estimated')::boolean, calls.estimated),
        case when c ->> 'outcome' = 'unknown' then coalesce(calls.unknown_at, clock_timestamp()) else calls.unknown_at end,
        coalesce((c ->> 'http_status')::integer, calls.http_status),
        (c ->> 'credits_used')::integer,
        -- An answer to a call with a foreign API key reports the balance of another account.
        case when not (select is_foreign from key_check) then (c ->> 'credits_remaining')::bigint end,
        c ->> 'error_code',
        c ->> 'error_message'
      from (select endings -> calls.id::text as c offset 0) found
    )
  from given
  where calls.id = any(ended_calls)
),
updated_tasks as (
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
updated_runs as (
  update runs
  set
    spent = greatest(0, runs.spent + r.spent),
    uncertain = greatest(0, runs.uncertain + r.uncertain),
    reserved = greatest(0, runs.reserved + r.reserved)
  from (
    select run, sum(spent) as spent, sum(uncertain) as uncertain, sum(reserved) as reserved
    from (
      select r.run, r.spent, r.uncertain, r.reserved
      from given, jsonb_to_recordset(it -> 'runs') as r (run bigint, spent bigint, uncertain bigint, reserved bigint)
      union all
      -- Reduces the credits held for lost calls whose cost is not yet included in a balance.
      select run_id, 0, bound - credits_reserved, 0
      from held
      where not washed
    ) both_ways
    group by run
  ) r
  where runs.id = r.run and (r.spent <> 0 or r.uncertain <> 0 or r.reserved <> 0)
)
select case when exists (select from changed) then ledger_changed() else true end as written
