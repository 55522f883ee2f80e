import { sql, type RawBuilder } from '../kysely.ts'
import type { Database } from '../database.ts'
import { floorInForce } from './floor.ts'
import { statement } from '../statement.ts'
import type { Trip } from '../pipelining.ts'

/** A row of `accounts` as the ledger reads and writes it; times in milliseconds. */
export interface AccountRow {
  readonly seq: number
  readonly used_total: number
  readonly obs_seq: number | null
  readonly obs_at_ms: number | null
  readonly obs_remaining: number | null
  readonly spent_since: number
  readonly reserved: number
  readonly in_flight: number
  readonly uncertain: number
  readonly drained_floor: number | null
  readonly blind_calls: number
  readonly probe_granted: boolean
  readonly last_probe_at_ms: number | null
  readonly not_before_ms: number | null
  readonly rate_next_at_ms: number | null
  readonly slowdowns: number
  readonly blocked_key: string | null
  readonly day: string | null
  readonly day_spent: number
}

export interface CostRow {
  readonly class: string
  readonly dearest: number | null
  readonly cheapest: number | null
  readonly seen: number
  readonly trying: boolean
}

export interface StopRow {
  readonly reason: string
  readonly since_ms: number
  readonly until_ms: number | null
  readonly detail: string | null
}

/** The books of an account, read under its lock. */
export interface Books {
  readonly account: AccountRow
  readonly now_ms: number
  /** The floor in force; nought where no worker lives. */
  readonly floor: number
  readonly costs: readonly CostRow[]
  readonly stops: readonly StopRow[]
}

/** What the core needs of an account's row. */
const accountColumns = sql`
  a.seq, a.used_total, a.obs_seq, extract(epoch from a.obs_at)::float8 * 1000 as obs_at_ms,
  a.obs_remaining, a.spent_since, a.reserved, a.in_flight, a.uncertain, a.drained_floor,
  a.blind_calls, a.probe_granted, extract(epoch from a.last_probe_at)::float8 * 1000 as last_probe_at_ms,
  extract(epoch from a.not_before)::float8 * 1000 as not_before_ms,
  extract(epoch from a.rate_next_at)::float8 * 1000 as rate_next_at_ms,
  a.slowdowns, a.blocked_key, a.day::text as day, a.day_spent`

/** All that a decision needs of the books of an account `a`; they are read into a `BooksRow`. */
export const booksColumns = sql`
  ${accountColumns},
  extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
  coalesce(${floorInForce}, 0) as floor,
  (
    select coalesce(jsonb_agg(jsonb_build_object(
      'class', c.class, 'dearest', c.dearest, 'cheapest', c.cheapest, 'seen', c.seen, 'trying', c.trying
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

/** The books of an account in one row. */
export interface BooksRow extends AccountRow {
  readonly now_ms: number
  readonly floor: number
  readonly costs: CostRow[]
  readonly stops: StopRow[]
}

/**
 * Takes the account's row: whoever holds it decides alone. Then reads the books, and what stands beside them: a
 * statement of its own, so that it sees all that was written before.
 */
export async function takeBooks<Row extends BooksRow>(
  trip: Trip,
  account: number,
  books: RawBuilder<Row>,
): Promise<Row> {
  void trip.run(sql`select from accounts where id = ${account} for no key update`)
  const [row] = await trip.run(books)
  if (row === undefined) throw new Error(`expected account ${account}, got none`)
  return row
}

/** Parts one reading into account and what stands beside it. */
export function booksOf(row: BooksRow): Books {
  const { now_ms, floor, costs, stops, ...account } = row
  return { account, now_ms, floor, costs, stops }
}

/** What a decision of the ledger changes, in the spelling of the columns. */
export interface Entries {
  readonly account_id: number
  readonly account: AccountRow
  readonly stops: readonly { reason: string; until_ms: number | null; detail: string | null }[]
  readonly cleared: readonly { reason: string; by: string }[]
  readonly costs: readonly CostRow[]
  readonly runs: readonly { run: number; spent: number; reserved: number }[]
}

/** Writes all that was decided in one statement; gives back which call serves which task, for calls that begin. */
export function keepBooks(entries: Entries) {
  return statement<{ id: number; task_id: number }>('keep_books', [JSON.stringify(entries)])
}

/** Finds the account's row or makes it; gives back its number. */
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
