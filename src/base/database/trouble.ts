// Classifies database errors as conflicts, outages or problems with the data.

import { npmRun } from '../cli/commands.ts'
import pg from 'pg'
import { codeOf, MillError, reasonOf, Unreachable, WrongDatabase } from '../errors.ts'
import { pause, within } from '../waiting.ts'
import type { Database } from './database.ts'
import { sql } from './kysely.ts'

// PostgreSQL error classes and codes for a server that is unreachable or read-only, rejects logins, or has lost the
// database. In these cases, paid answers are stored when the server works again.
const away = /^(08|57P|53|58|25006|28|3D000|55000)/
const mistakes = [TypeError, RangeError, ReferenceError, SyntaxError]
// QM001 is our own code for a change in the data behind a ledger decision. 25P03 and 25P04 mean that the server ended a
// transaction because this process was frozen.
const conflicts = new Set(['40001', '40P01', '55P03', '57014', '25P03', '25P04', 'QM001'])

/** True if waiting cannot help, because the data is wrong or this is the wrong database. */
export function isFatal(error: unknown): boolean {
  return error instanceof WrongDatabase || troubleOf(error) === 'data'
}

/** Classifies an error by its code, never by its text: wait, retry at once, or check the data. */
export function troubleOf(error: unknown): 'away' | 'conflict' | 'data' {
  const code = codeOf(error)
  if (code !== null && conflicts.has(code)) return 'conflict'
  if (error instanceof pg.DatabaseError) return code !== null && away.test(code) ? 'away' : 'data'
  // An error from this program's own code is not an outage, so waiting would not help.
  if (mistakes.some((kind) => error instanceof kind)) return 'data'
  // Any other error without a server code means that a connection broke, hung or was refused.
  return 'away'
}

/** Error for a database that has lost data that this process read or wrote. Buying must stop. */
export function setBack(found: string): WrongDatabase {
  return new WrongDatabase(
    `the database has returned to an earlier state: ${found}. Either it was restored from a copy, or it lost its newest commits; run ${npmRun('verify')}, then start again`,
  )
}

/** Time limit for closing a pool; a client could otherwise wait forever for its server. */
const endWithinMs = 2_000

/** Closes connections. Ignores outages while closing, because relevant errors have already been reported. */
export async function letGo(end: () => Promise<unknown>): Promise<void> {
  const ending = end().catch((error: unknown) => {
    if (troubleOf(error) !== 'away') throw error
  })
  await within(ending, { ms: endWithinMs })
}

/** Opens a resource on a server. Outages are reported as `Unreachable`, not as bugs. */
export async function reaching<T>(what: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (cause) {
    const gone = codeOf(cause) !== null && troubleOf(cause) === 'away'
    if (!gone || cause instanceof Unreachable) throw cause
    const reason = reasonOf(cause)
    throw new Unreachable(`${what} cannot be reached: ${reason}; try again`, { cause })
  }
}

const retryMs = 250

/** Retries until the database responds. Throws permanent errors immediately, and outage errors once `over` is true. */
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

/** Maximum delay between reading a worker's clock and storing the time in the database. */
const slackMs = 250

/**
 * Corrects timestamps that lie in the future. BullMQ on PostgreSQL uses the workers' clocks. If a clock was briefly
 * ahead, lock times are in the future, so no worker takes over a dead worker's jobs. A live worker whose clock is
 * slightly ahead can still renew its lock.
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
