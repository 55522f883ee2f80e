// Reads and writes the rows that limit an account's reservations.

import type { Database, Trip } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only, statement } from '../../base/database/sql-file.ts'
import type { Account } from './account.ts'
import type { Cost, Costs } from './prices.ts'
import { floorInForce } from './standstill.ts'

/** Snapshot of an account's books, read without locks. */
export interface Books {
  readonly account: Account
  /** Version of the account's row, which changes whenever the row is updated. */
  readonly version: string
  readonly now_ms: number
  /** Floor in force, or 0 if no worker is alive. */
  readonly floor: number
  readonly costs: Costs
  /** Reasons for the stops in force. */
  readonly stops: readonly string[]
}

// Until a balance is reported, the lowest balance is 9007199254740991 (`Number.MAX_SAFE_INTEGER`).
const accountColumns = sql`
  a.seq, a.used_total as "usedTotal",
  case when a.obs_seq is not null then jsonb_build_object(
    'seq', a.obs_seq, 'at', extract(epoch from a.obs_at)::float8 * 1000, 'remaining', a.obs_remaining
  ) end as seen,
  coalesce(a.history <> server_history(), false) or coalesce(a.obs_seq <= a.history_seq, false) as doubted,
  a.spent_since as "spentSince",
  case when a.told_seq is not null then jsonb_build_object(
    'seq', a.told_seq, 'least', coalesce(a.told_least, 9007199254740991), 'untold', a.told_untold
  ) end as reported,
  case when a.next_told_seq is not null then jsonb_build_object(
    'seq', a.next_told_seq, 'least', coalesce(a.next_told_least, 9007199254740991), 'untold', a.next_told_untold
  ) end as "reportedNext",
  a.reserved, a.in_flight as "inFlight", a.uncertain, a.drained_floor as "drainedFloor",
  a.blind_calls as "blindCalls", a.probe_granted as "probeGranted",
  extract(epoch from a.last_probe_at)::float8 * 1000 as "lastProbeAt",
  extract(epoch from a.not_before)::float8 * 1000 as "notBefore",
  extract(epoch from a.rate_next_at)::float8 * 1000 as "rateNextAt",
  a.slowdowns, a.blocked_keys as "blockedKeys", a.keys, a.foreign_keys as "foreignKeys",
  jsonb_build_object('now', a.external_now, 'last', a.external_last) as external,
  a.day::text as day, a.day_spent as "daySpent", a.month::text as month, a.month_spent as "monthSpent"`

/** An account's prices, stops and credit floor. */
const booksColumns = sql`
  a.xmin::text as version,
  extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
  coalesce(${floorInForce}, 0)::float8 as floor,
  (
    select coalesce(jsonb_agg(jsonb_build_object(
      'class', c.class,
      'dearest', coalesce(c.dearest, 0),
      'cheapest', coalesce(c.cheapest, 0),
      'seen', c.seen,
      'trying', c.trying,
      'recent', jsonb_build_object(
        'first', c.recent_first, 'second', c.recent_second, 'count', c.recent_count
      ),
      'earlier', jsonb_build_object(
        'first', c.earlier_first, 'second', c.earlier_second, 'count', c.earlier_count
      )
    )), '[]')
    from account_costs c
    where c.account_id = a.id
  ) as costs,
  array(
    select s.reason
    from stops s
    where s.account_id = a.id and s.cleared_at is null
  ) as stops`

/** Reads an account's books without locking any row. */
export async function readBooks(db: Database, id: number): Promise<Books> {
  const { rows } = await sql<
    Account & Omit<Books, 'account' | 'costs'> & { costs: (Cost & { class: string })[] }
  >`
    select ${accountColumns}, ${booksColumns}
    from accounts a
    where a.id = ${id}`.execute(db)
  const { version, now_ms, floor, costs, stops, ...account } = only(rows)
  const byClass = new Map(costs.map(({ class: name, ...cost }) => [name, cost]))
  return { account, version, now_ms, floor, costs: byClass, stops }
}

export function takeRuns(trip: Trip, runs: readonly number[]): void {
  // Two accounts may buy for the same run, so a shared lock protects the run's budget and tasks.
  void trip.run(statement('lock_runs', { runs: [...new Set(runs)] }))
}

/** Finds or inserts an account's row, and returns its id. */
export async function openAccount(
  db: Database,
  { name, kind }: { name: string; kind: 'live' | 'test' | 'sandbox' },
): Promise<number> {
  await db
    .insertInto('accounts')
    .values({ name, kind })
    .onConflict((conflict) => conflict.columns(['name', 'kind']).doNothing())
    .execute()
  const { id } = await db
    .selectFrom('accounts')
    .select('id')
    .where('name', '=', name)
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow()
  return id
}
