// Classifies errors of the database: conflict, outage, or a problem of the data.

import pg from 'pg'
import { codeOf, MillError, reasonOf, Unreachable, WrongDatabase } from '../errors.ts'
import { pause, within } from '../waiting.ts'
import type { Database } from './database.ts'
import { sql } from './kysely.ts'

/** Why a statement failed, as far as it decides what to do: come back later, try again now, or look at the data. */
type Trouble = 'away' | 'conflict' | 'data'

// Classes and codes of PostgreSQL. A server that only takes reads, refuses logins, lets nobody into the database or has
// lost it counts as away too: a person has to mend it, and answers that were paid for wait.
const away = /^(08|57P|53|58|25006|28|3D000|55000)/
const mistakes = [TypeError, RangeError, ReferenceError, SyntaxError]
// QM001 is our own: what a decision of the ledger rests on has changed.
// 25P03 and 25P04 end a transaction that stood still: this process was frozen, and asks again.
const conflicts = new Set(['40001', '40P01', '55P03', '57014', '25P03', '25P04', 'QM001'])

/** True for what no waiting mends: it lies in the data, or in the database as a whole. */
export function isFatal(error: unknown): boolean {
  return error instanceof WrongDatabase || troubleOf(error) === 'data'
}

/** Reads the verdict off the code of an error, never off its text. */
export function troubleOf(error: unknown): Trouble {
  const code = codeOf(error)
  if (code !== null && conflicts.has(code)) return 'conflict'
  if (error instanceof pg.DatabaseError) return code !== null && away.test(code) ? 'away' : 'data'
  // Mistakes of this program are not the server's doing: waiting would never mend them.
  if (mistakes.some((kind) => error instanceof kind)) return 'data'
  // Everything else that is not the server's own word is a connection that broke, hung or was refused.
  return 'away'
}

/** The database lacks what this process wrote to it, or saw in it: nothing may be bought by such books. */
export function setBack(found: string): WrongDatabase {
  return new WrongDatabase(
    `expected the database to hold what was written to it, got an earlier state: ${found}; it was restored from a copy, or lost its newest commits: type npm run verify, then start again`,
  )
}

/** True when a row is there already, perhaps by somebody else since it was looked for. */
export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === '23505'
}

/** A pool waits for its clients to come back; one that a dead or silent server holds never does. */
const endWithinMs = 2_000

/** Ends connections. One that breaks while it ends has ended: what was to be said was said before. */
export async function letGo(end: () => Promise<unknown>): Promise<void> {
  const ending = end().catch((error: unknown) => {
    if (troubleOf(error) !== 'away') throw error
  })
  await within(ending, { ms: endWithinMs })
}

/** Opens something that needs a server; one that goes away meanwhile is out of reach, and no bug. */
export async function reaching<T>(what: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (cause) {
    const gone = codeOf(cause) !== null && troubleOf(cause) === 'away'
    if (!gone || cause instanceof Unreachable) throw cause
    const reason = reasonOf(cause)
    throw new Unreachable(`expected ${what} within reach, got ${reason}; try again`, { cause })
  }
}

const retryMs = 250

/** Asks until the database answers. Once `over` is true an outage is thrown; what no waiting mends is thrown at once. */
export async function untilAnswered<T>(ask: () => Promise<T>, over: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const trouble = troubleOf(error)
      if (error instanceof MillError || trouble === 'data') throw error
      if (trouble === 'away' && over()) throw error
      await pause(retryMs)
    }
  }
}

/** Between a worker's look at its clock and the moment at which the database has what it wrote. */
const slackMs = 250

/**
 * BullMQ on PostgreSQL goes by the clocks of its workers. One that ran ahead for a moment leaves locks, and the time of
 * the last look for stalled jobs, in the future, and nobody takes what a dead worker held: what lies beyond anything that a
 * right clock can have written comes down. A worker that lives gets time to renew its lock, for its clock may be only a
 * little ahead.
 */
export async function undoLeaps(
  db: Database,
  { lockMs, graceMs }: { lockMs: number; graceMs: number },
): Promise<void> {
  await sql`
    with clock as (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms),
    looks as (
      update bullmq.meta
      set value = clock.now_ms::text
      from clock
      where field = 'stalled-check' and value::numeric > clock.now_ms + ${slackMs}
    )
    update bullmq.job
    set locked_until_ms = clock.now_ms + ${graceMs}
    from clock
    where state = 'active' and locked_until_ms > clock.now_ms + ${lockMs + slackMs}`.execute(db)
}
