import { type Database, travel } from '../../base/database/database.ts'
import { type CompiledQuery, sql } from '../../base/database/kysely.ts'
import { statement } from '../../base/database/statement.ts'
import { takeAccount } from './books.ts'

/** The code of a statement that finds the books other than it was told. */
export const booksChanged = 'QM001'

/** A call as settlement needs it, with the tries of its task. */
export interface OpenCall {
  readonly id: number
  readonly mark: string | null
  readonly outcome: string | null
  readonly washed: boolean
  readonly start_seq: number
  readonly sent_at_ms: number
  readonly start_total: number
  readonly credits_reserved: number
  readonly class: string
  readonly query_id: string
  readonly task_id: number
  /** Another one after every change of the task's row. */
  readonly version: string
  readonly run_id: number
  readonly state: string
  readonly attempts: number
  readonly ambiguous: number
  readonly deaths: number
}

/** Reads the calls of an account that ended; nothing is locked. */
export async function readCalls(
  db: Database,
  account: number,
  calls: readonly number[],
): Promise<readonly OpenCall[]> {
  const { rows } = await sql<OpenCall>`
    select
      c.id, c.mark, c.outcome, c.washed_at is not null as washed, c.start_seq,
      extract(epoch from c.sent_at)::float8 * 1000 as sent_at_ms, c.start_total, c.credits_reserved,
      c.class, c.query_id, c.task_id, t.xmin::text as version, t.run_id, t.state, t.attempts, t.ambiguous, t.deaths
    from calls c
    join tasks t on t.id = c.task_id
    where c.id = any(${calls}::bigint[])
      and c.account_id = ${account}`.execute(db)
  return rows
}

/** What a row does not say is left out of the document: most calls end without an error, and all are read by Postgres. */
type Said<T> = T | null | undefined

/** What a settlement writes, and what it rests on. */
export interface Settlement {
  readonly account_id: number
  readonly key: string
  /** The floor of this worker. */
  readonly floor: number
  readonly jitter: number
  readonly grace_ms: number
  readonly trusted_after: number
  readonly change: {
    readonly reserved: number
    readonly in_flight: number
    readonly uncertain: number
    readonly used: number
    readonly day_spent: number
    readonly newest: {
      seq: number
      started_at_ms: number
      start_total: number
      used: number
      remaining: number
    } | null
    readonly least: number | null
    readonly untold: number
    readonly refused_keys: readonly string[]
    readonly no_credit: { seq: number; started_at_ms: number } | null
    readonly slow_down: { started_at_ms: number; wait_ms: number | null; unnamed: boolean } | null
    readonly welcome: boolean
  }
  readonly prices: readonly {
    class: string
    first: number
    second: number
    heard: number
    cheapest: number
    tried: boolean
  }[]
  readonly stops: readonly { reason: string; detail: string | null }[]
  readonly calls: readonly {
    id: number
    /** What was read of it: anything else by now means that all of it is worked out again. */
    mark: Said<string>
    was: Said<string>
    was_washed: boolean
    bound: number
    outcome: string
    http_status: Said<number>
    credits_used: Said<number>
    credits_remaining: Said<number>
    error_code: Said<string>
    error_message: Said<string>
  }[]
  readonly tasks: readonly {
    id: number
    version: string
    state: string
    search_id: Said<number>
    attempts: number
    ambiguous: number
    deaths: number
    wait_ms: Said<number>
    error_code: Said<string>
    error_message: Said<string>
  }[]
  readonly runs: readonly { run: number; spent: number; reserved: number }[]
}

/** The statement that writes a settlement. */
export function settling(settlement: Settlement): CompiledQuery {
  const [calls, tasks] = [byNumber(settlement.calls), byNumber(settlement.tasks)]
  return statement('settle_calls', [JSON.stringify({ ...settlement, calls, tasks })])
}

function byNumber<T extends { readonly id: number }>(items: readonly T[]): Record<string, T> {
  return Object.fromEntries(items.map((item) => [item.id, item]))
}

/**
 * Stores answers and what they mean for money, tasks and runs, and commits. All of it is sent at once; the account is
 * taken by the last statements. Fails with the code of a conflict when a call or a task is not as it was read.
 */
export async function saveSettlement(
  db: Database,
  settlement: Settlement,
  answers: Iterable<CompiledQuery>,
): Promise<void> {
  await travel(db, async (trip) => {
    let stored: Promise<unknown> = Promise.resolve()
    for (const query of answers) {
      // Very large bodies go one statement after the other: sent together they would all be in memory.
      await stored
      stored = trip.run(query)
    }
    takeAccount(
      trip,
      settlement.account_id,
      settlement.runs.map(({ run }) => run),
    )
    await trip.end(settling(settlement))
  })
}
