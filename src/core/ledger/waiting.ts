// Reads tasks that wait for a reservation, and calls whose answers were lost.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'
import type { Device, Query } from '../../base/query.ts'

/** Number of times that a lost answer is requested again, within about a minute, before the query is bought again. */
const mostAgain = 8

/** Time limit for the last request for a lost answer. */
const lastOneMs = 60_000

/** True if account `a` may request the unreadable answer to call `c` again. The API charges only once. */
const mayAskAgain = sql<boolean>`(
  c.outcome = 'unknown'
  and c.washed_at is null
  and c.mark is not null
  -- An answer that reported no price is already stored, so it was not lost.
  and not exists (select from searches s where s.call_id = c.id)
  and c.sent_at > clock_timestamp() - a.replay_ms * interval '1 millisecond'
  and (c.asked_again < ${mostAgain}
    or c.asked_again_at > clock_timestamp() - ${lastOneMs} * interval '1 millisecond')
)`

/**
 * True if a lost answer for task `t` may still arrive, either for account `a` or for another account whose workers
 * are expected to request the answer again.
 */
const mayBeAnswered = sql<boolean>`(
  a.replay_ms is not null and exists (
    select
    from calls c
    where c.account_id = a.id and c.query_id = t.query_id and ${mayAskAgain}
  )
  or exists (
    select
    from calls c
    join accounts a on a.id = c.account_id
    where c.task_id = t.id
      and c.unknown_at > clock_timestamp() - interval '90 seconds'
      and ${mayAskAgain}
  )
)`

export interface LostAnswer {
  readonly call: number
  readonly mark: string
  readonly task: number
  readonly run: number
  readonly class: string
  readonly priority: number
  readonly query_id: string
  readonly query: Query & { readonly device: Device | null }
}

/** Claims lost calls that should be repeated now. Other workers do not touch claimed calls for a while. */
export async function claimLost(
  db: Database,
  { account, limit }: { account: number; limit: number },
): Promise<readonly LostAnswer[]> {
  const { rows } = await sql<LostAnswer>`
    with due as (
      select c.id
      from calls c
      join accounts a on a.id = c.account_id
      where c.account_id = ${account}
        and ${mayAskAgain}
        and c.asked_again < ${mostAgain}
        and (
          c.asked_again_at is null
          or c.asked_again_at
            < clock_timestamp() - least(20, 0.25 * 2 ^ c.asked_again) * interval '1 second'
        )
        and (a.not_before is null or a.not_before <= clock_timestamp())
        and not exists (
          select
          from stops s
          where s.account_id = a.id and s.cleared_at is null and s.reason = 'auth'
        )
      order by c.id
      limit ${limit}
      for no key update of c skip locked
    )
    update calls
    set asked_again = calls.asked_again + 1, asked_again_at = clock_timestamp()
    from due, tasks t, slices s, queries q
    where calls.id = due.id
      and t.id = calls.task_id
      and s.run_id = t.run_id
      and s.slice = t.slice
      and q.id = calls.query_id
    returning
      calls.id as call, calls.mark, t.id as task, t.run_id as run, calls.class, s.priority,
      calls.query_id,
      jsonb_build_object(
        'q', q.q, 'location', q.location, 'hl', q.hl, 'gl', q.gl, 'num', q.num, 'device', q.device
      ) as query`.execute(db)
  return rows
}

/** True if an answer for this account was lost recently and may still arrive. */
export async function anyLost(db: Database, account: number): Promise<boolean> {
  const { rows } = await sql<{ any: boolean }>`
    select exists (
      select
      from calls c
      join accounts a on a.id = c.account_id
      where c.account_id = ${account}
        and c.unknown_at > clock_timestamp() - interval '2 minutes'
        and ${mayAskAgain}
    ) as any`.execute(db)
  return rows[0]?.any ?? false
}

/** Takes a slot in the account's rate limit, or returns false if no slot is free. */
export async function takeTurn(
  db: Database,
  { account, perSecond }: { account: number; perSecond: number },
): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    update accounts a
    set rate_next_at = clock_timestamp() + interval '1 second' / ${perSecond}::float8
    where a.id = ${account}
      and (a.rate_next_at is null or a.rate_next_at <= clock_timestamp())
      and exists (select from calls c where c.account_id = a.id and ${mayAskAgain})
    returning a.id`.execute(db)
  return rows.length > 0
}

/** Stores the period for which the API repeats an answer, or null if the API never repeats answers. */
export async function saveReplay(
  db: Database,
  account: number,
  replayMs: number | null,
): Promise<void> {
  await db
    .updateTable('accounts')
    .set({ replay_ms: replayMs })
    .where('id', '=', account)
    .where('replay_ms', 'is distinct from', replayMs)
    .where('wrong_answers', '=', 0)
    .execute()
}

export interface WaitingTask {
  readonly id: number
  /** Version of the task's row, which changes whenever the row is updated. */
  readonly version: string
  readonly query_id: string
  readonly state: string
  readonly run_id: number
  readonly run_open: boolean
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
  /** The list's budget for the run's month, or null if the list has no budget. */
  readonly list: ListBudgetUse | null
  /** True if a call for the task or its query is in flight, or if a lost answer may still arrive. */
  readonly busy: boolean
  readonly due: boolean
  readonly max_age_ms: number
  /** Id of an answer that is recent enough for the run. Readable answers are preferred. */
  readonly fresh: number | null
}

/** A budget that a list's runs share in one month. */
export interface ListBudgetUse {
  readonly key: string
  readonly budget: number
  readonly spent: number
  readonly reserved: number
}

interface WaitingOrder {
  readonly account: number
  readonly worker: number
  readonly tasks: readonly number[]
  readonly origin: string
  readonly api: string
}

// Computes a list's spending by adding up its runs.
const listBudget = sql`
  case when l.budget is not null then (
    select json_build_object(
      'key', l.id || ' ' || to_char(r.run_date, 'YYYY-MM'),
      'budget', l.budget,
      'spent', sum(o.spent + o.uncertain)::float8,
      'reserved', sum(o.reserved)::float8
    )
    from runs o
    where o.list_id = l.id and date_trunc('month', o.run_date) = date_trunc('month', r.run_date)
  ) end`

// True if a call is in flight for task `t`, or for the same query if account `a` may reuse the answer,
// or if a lost answer may still arrive.
const isBusy = sql<boolean>`(
  -- The calls in flight are read once. The planner expects few of them, and may read them all in the subquery below.
  t.query_id in (select c.query_id from calls c where c.outcome is null)
  and exists (
    select
    from unnest(buyers.ids) as buyer
    where (
      select c.task_id = t.id or c.account_id = a.id or r.max_age_ms > 0 and c.account_id = any(buyers.peers)
      from calls c
      where c.account_id = buyer and c.query_id = t.query_id and c.outcome is null
    )
  )
  or ${mayBeAnswered}
)`

/** One row per existing task, or one row with a null id if there are no tasks. */
type WaitingRow = { readonly lease_live: boolean } & (WaitingTask | { readonly id: null })

/** Reads the lease and the tasks to buy in one statement, so that both are consistent without locks. */
export async function readWaiting(db: Database, wanted: WaitingOrder) {
  const { rows } = await sql<WaitingRow>`
    select
      (
        select w.lease_until > clock_timestamp() and w.stopped_at is null
        from workers w
        where w.id = ${wanted.worker}
      ) as lease_live,
      waiting.*
    from accounts a
    cross join lateral (
      select array_agg(id) as ids, array_agg(id) filter (where kind = a.kind) as peers from accounts
    ) buyers
    left join lateral (
      select
        t.id,
        t.xmin::text as version,
        t.query_id,
        t.state,
        t.run_id,
        r.state = 'open' as run_open,
        r.budget,
        r.spent + r.uncertain as spent,
        r.reserved,
        ${listBudget} as list,
        r.max_age_ms,
        t.not_before is null or t.not_before <= clock_timestamp() as due,
        ${isBusy} as busy,
        (
          select s.id
          from searches s
          where r.max_age_ms > 0
            and s.query_id = t.query_id
            and s.fetched_at > clock_timestamp() - r.max_age_ms * interval '1 millisecond'
            and (t.answers_after is null or s.fetched_at > t.answers_after)
            and s.origin = ${wanted.origin}
            and s.api = ${wanted.api}
            and not exists (select from quarantine where quarantine.search_id = s.id)
          order by s.parse_error is not null, s.fetched_at desc
          limit 1
        ) as fresh
      from tasks t
      join runs r on r.id = t.run_id
      join lists l on l.id = r.list_id
      where t.id = any(${wanted.tasks}::bigint[])
    ) waiting on true
    where a.id = ${wanted.account}`.execute(db)
  const { lease_live } = only(rows.slice(0, 1))
  return { lease_live, tasks: rows.flatMap((row): WaitingTask[] => (row.id === null ? [] : [row])) }
}
