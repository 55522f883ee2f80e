import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { booksColumns, booksOf, keepBooks, takeBooks } from './books.ts'
import type { Books, BooksRow, Entries } from './books.ts'
import type { Trip } from '../pipelining.ts'

/** A call as settlement needs it, with the tries of its task. */
export interface OpenCall {
  readonly id: number
  readonly outcome: string | null
  readonly washed: boolean
  readonly start_seq: number
  readonly sent_at_ms: number
  readonly start_total: number
  readonly credits_reserved: number
  readonly class: string
  readonly task_id: number
  readonly run_id: number
  readonly state: string
  readonly attempts: number
  readonly ambiguous: number
  readonly deaths: number
}

export interface HeldCall {
  readonly call: number
  readonly unknown_at_ms: number
  readonly bound: number
}

interface Read extends BooksRow {
  readonly calls: readonly OpenCall[]
  readonly held: readonly HeldCall[]
}

/** Takes the account; reads the books, the calls that ended and the credits held for calls nobody could read. */
export async function readForSettle(
  trip: Trip,
  account: number,
  calls: readonly number[],
): Promise<{ books: Books; calls: readonly OpenCall[]; held: readonly HeldCall[] }> {
  const {
    calls: ended,
    held,
    ...books
  } = await takeBooks(
    trip,
    account,
    sql<Read>`
      select ${booksColumns}, (
        select coalesce(jsonb_agg(jsonb_build_object(
          'id', c.id,
          'outcome', c.outcome,
          'washed', c.washed_at is not null,
          'start_seq', c.start_seq,
          'sent_at_ms', extract(epoch from c.sent_at)::float8 * 1000,
          'start_total', c.start_total,
          'credits_reserved', c.credits_reserved,
          'class', c.class,
          'task_id', c.task_id,
          'run_id', t.run_id,
          'state', t.state,
          'attempts', t.attempts,
          'ambiguous', t.ambiguous,
          'deaths', t.deaths
        )), '[]')
        from calls c
        join tasks t on t.id = c.task_id
        where c.id = any(${calls}::bigint[])
      ) as calls,
      (
        select coalesce(jsonb_agg(jsonb_build_object(
          'call', c.id,
          'unknown_at_ms', extract(epoch from c.unknown_at)::float8 * 1000,
          'bound', c.credits_reserved
        )), '[]')
        from calls c
        where a.uncertain > 0 and c.account_id = a.id and c.outcome = 'unknown' and c.washed_at is null
      ) as held
      from accounts a
      where a.id = ${account}`,
  )
  return { books: booksOf(books), calls: ended, held }
}

/** What a settlement writes beside the books of the account. */
export interface Settlement extends Entries {
  readonly calls: readonly {
    id: number
    outcome: string
    http_status: number | null
    credits_used: number | null
    credits_remaining: number | null
    error_code: string | null
    error_message: string | null
  }[]
  readonly washed: readonly number[]
  readonly tasks: readonly {
    id: number
    state: string
    search_id: number | null
    attempts: number
    ambiguous: number
    deaths: number
    wait_ms: number | null
    error_code: string | null
    error_message: string | null
  }[]
}

/** Writes the outcomes of calls and what they mean for tasks, runs and prices, and commits. */
export async function saveSettlement(trip: Trip, settlement: Settlement): Promise<void> {
  await trip.end(keepBooks(settlement))
}

/** Those of the calls that this database has: one that was restored from a copy lacks those sent after the copy. */
export async function knownCalls(db: Database, calls: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select id
    from calls
    where id = any(${calls}::bigint[])`.execute(db)
  return new Set(rows.map(({ id }) => id))
}
