// Reads and writes an account's books: the rows that a reservation depends on.

import { type Database, travel, type Trip } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only, statement } from '../../base/database/sql-file.ts'
import { type Account, constants } from './account.ts'
import type { Cost, Costs } from './prices.ts'
import { floorInForce } from './standstill.ts'
import type { ListBudgetUse } from './waiting.ts'

type CostRow = Cost & { readonly class: string }

/** Stands for the lowest balance while none was reported. */
const unreported = sql.lit(Number.MAX_SAFE_INTEGER)

interface StopRow {
  readonly reason: string
  readonly since_ms: number
  readonly until_ms: number | null
  readonly detail: string | null
}

/** Snapshot of an account's books, read without locks. */
export interface Books {
  readonly account: Account
  /** Version of the account's row, which changes with every change to the row. */
  readonly version: string
  readonly now_ms: number
  /** Floor in force, or 0 if no worker is alive. */
  readonly floor: number
  readonly costs: Costs
  readonly stops: readonly StopRow[]
}

const accountColumns = sql`
  a.seq, a.used_total as "usedTotal",
  case when a.obs_seq is not null then jsonb_build_object(
    'seq', a.obs_seq, 'at', extract(epoch from a.obs_at)::float8 * 1000, 'remaining', a.obs_remaining
  ) end as seen,
  coalesce(a.history <> server_history(), false) or coalesce(a.obs_seq <= a.history_seq, false) as doubted,
  a.spent_since as "spentSince",
  case when a.told_seq is not null then jsonb_build_object(
    'seq', a.told_seq, 'least', coalesce(a.told_least, ${unreported}), 'untold', a.told_untold
  ) end as reported,
  case when a.next_told_seq is not null then jsonb_build_object(
    'seq', a.next_told_seq, 'least', coalesce(a.next_told_least, ${unreported}), 'untold', a.next_told_untold
  ) end as "reportedNext",
  a.reserved, a.in_flight as "inFlight", a.uncertain, a.drained_floor as "drainedFloor",
  a.blind_calls as "blindCalls", a.probe_granted as "probeGranted",
  extract(epoch from a.last_probe_at)::float8 * 1000 as "lastProbeAt",
  extract(epoch from a.not_before)::float8 * 1000 as "notBefore",
  extract(epoch from a.rate_next_at)::float8 * 1000 as "rateNextAt",
  a.slowdowns, a.blocked_keys as "blockedKeys", a.keys, a.foreign_keys as "foreignKeys",
  jsonb_build_object('now', a.external_now, 'last', a.external_last) as external,
  a.day::text as day, a.day_spent as "daySpent", a.month::text as month, a.month_spent as "monthSpent"`

/** An account's prices and stops, with the floor. */
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
  (
    select coalesce(jsonb_agg(jsonb_build_object(
      'reason', s.reason,
      'since_ms', extract(epoch from s.since)::float8 * 1000,
      'until_ms', extract(epoch from s.until)::float8 * 1000,
      'detail', s.detail
    )), '[]')
    from stops s
    where s.account_id = a.id and s.cleared_at is null
  ) as stops`

/** Reads an account's books without locking any row. */
export async function readBooks(db: Database, id: number): Promise<Books> {
  const { rows } = await sql<Account & Omit<Books, 'account' | 'costs'> & { costs: CostRow[] }>`
    select ${accountColumns}, ${booksColumns}
    from accounts a
    where a.id = ${id}`.execute(db)
  const { version, now_ms, floor, costs, stops, ...account } = only(rows)
  const byClass = new Map(costs.map(({ class: name, ...cost }) => [name, cost]))
  return { account, version, now_ms, floor, costs: byClass, stops }
}

/**
 * Locks the account's row, and then the rows of the runs. Only the holder of these locks writes, so the next statement
 * sees all earlier changes. All statements are sent together, so no lock is held while waiting for this process.
 */
export function takeAccount(trip: Trip, account: number, runs: readonly number[]): void {
  void trip.run(statement('lock_account', { account }))
  takeRuns(trip, runs)
}

function takeRuns(trip: Trip, runs: readonly number[]): void {
  // Two accounts may work on one run, so a shared lock protects the run's budget and tasks.
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

/** A reservation: the rows to write, and the row versions that the decision is based on. */
export interface Reservation {
  readonly account_id: number
  readonly worker: number
  readonly origin: string
  readonly api: string
  readonly key: string
  /** This worker's floor. */
  readonly floor: number
  /** False for a test account, because it has no floor. */
  readonly counts: boolean
  /** Maximum number of calls in flight across all workers, or null for no limit. */
  readonly most_in_flight: number | null
  /** Credits that are expected to leave the balance without being billed, per call in flight. */
  readonly external: number
  /** Version of the books on which the decision is based. */
  readonly version: string
  /** True if the decision holds as long as the credits suffice, whatever other workers do. */
  readonly steady: boolean
  /** New values for the account, apart from its totals. Changed accounts are not overwritten. */
  readonly state: ReturnType<typeof stateOf>
  readonly stops: readonly { reason: string; until_ms: number | null; detail: string | null }[]
  readonly cleared: readonly { reason: string; by: string }[]
  readonly tasks: readonly { id: number; version: string; reused: boolean }[]
  readonly runs: readonly {
    run: number
    budget: number | null
    had_spent: number
    had_reserved: number
    reserved: number
    /** Budget of the run's list, as read from the database, or null if the list has no budget. */
    list: ListBudgetUse | null
  }[]
  readonly grants: readonly {
    task: number
    query: string
    mark: string
    place: number
    max_age_ms: number
    class: string
    bound: number
    probe: boolean
  }[]
  /** New price classes, for each of which one call goes out now. */
  readonly trying: readonly string[]
  readonly reused: readonly { task: number; search: number }[]
  /** Tasks that cannot reuse an answer, in runs without any budget left: only a call could answer these tasks. */
  readonly given_up: readonly number[]
  readonly spent_runs: readonly number[]
  readonly spent_by_list: readonly number[]
}

/** Returns the account values that a reservation changes, apart from totals. */
export function stateOf(account: Account) {
  return {
    drained_floor: account.drainedFloor,
    blind_calls: account.blindCalls,
    probe_granted: account.probeGranted,
    last_probe_at_ms: account.lastProbeAt,
    rate_next_at_ms: account.rateNextAt,
    day: account.day,
    day_spent: account.daySpent,
    month: account.month,
    month_spent: account.monthSpent,
  }
}

export function reserving(reservation: Reservation) {
  return statement<{ written: boolean; calls: string[]; tasks: string[] }>('reserve_calls', {
    reservation: JSON.stringify(reservation),
    trusted_after: constants.trustedAfter,
    most_given_up: 2000,
    lost_ms: 120_000,
  })
}

/** Writes a reservation and commits. Returns each task's call, or null if a new decision is needed. */
export async function saveReservation(
  db: Database,
  reservation: Reservation,
): Promise<ReadonlyMap<number, number> | null> {
  const [row] = await travel(db, async (trip) => {
    const runs = reservation.runs.map(({ run }) => run)
    // If other accounts are buying the same query, one account buys it, and the other accounts reuse the answer.
    void trip.run(statement('lock_accounts', { account: reservation.account_id }))
    takeRuns(trip, runs)
    // Other runs may be using the same list budgets.
    void trip.run(statement('lock_lists', { runs }))
    return trip.end(reserving(reservation))
  })
  if (row === undefined || !row.written) return null
  // The driver returns numbers in an array as strings.
  return new Map(row.tasks.map((task, index) => [Number(task), Number(row.calls[index])]))
}
