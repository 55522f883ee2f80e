import { nextAfter, readCron, type Cron } from '../../shared/time/cron.ts'
import type { Database } from '../database.ts'
import { databaseNow } from './nights.ts'
import { readOutlook } from './outlook.ts'

// Twice the time within which a night counts as on time: a scheduler that is there has decided long before.
const patienceMs = 10 * 60_000

/** What is kept about a schedule between two ticks. */
export interface Watch {
  readonly name: string
  /** Null when its pattern cannot be read any more. */
  readonly cron: Cron | null
  readonly zone: string
  readonly known: Date
  /** The oldest night that was put off. */
  readonly waiting: Date | null
}

/** A night of which nothing has become although it ought to have. */
export interface Overdue {
  readonly schedule: string
  readonly dueAt: Date
  readonly problem: string
}

/** Schedules that are on, as the tables know them: no file is needed. */
export async function readWatched(db: Database): Promise<readonly Watch[]> {
  return (await readOutlook(db)).map(({ cron, known_until: known, ...row }) => {
    const reading = readCron(cron)
    return { ...row, known, cron: reading.kind === 'cron' ? reading.cron : null }
  })
}

/** Nights of which nothing has become although they ought to have. */
export async function overdueNights(db: Database, now?: Date): Promise<readonly Overdue[]> {
  const watches = await readWatched(db)
  return watches.length === 0 ? [] : findOverdue(watches, now ?? (await databaseNow(db)))
}

/** What nobody has decided although it is long due, and what has waited until the next night is due as well. */
export function findOverdue(watches: readonly Watch[], now: Date): Overdue[] {
  return watches.flatMap((watch) => [...undecided(watch, now), ...stuck(watch, now)])
}

function undecided({ name, cron, zone, known }: Watch, now: Date): Overdue[] {
  const first = cron === null ? null : nextAfter(cron, zone, known)
  if (first === null || first.getTime() + patienceMs > now.getTime()) return []
  const problem = 'it was due and nobody decided: is the scheduler running? (npm run nightly)'
  return [{ schedule: name, dueAt: first, problem }]
}

function stuck({ name, cron, zone, waiting }: Watch, now: Date): Overdue[] {
  if (cron === null || waiting === null) return []
  const next = nextAfter(cron, zone, waiting)
  if (next === null || next.getTime() + patienceMs > now.getTime()) return []
  const problem = 'it still waits for an older run although the next one is due as well'
  return [{ schedule: name, dueAt: waiting, problem }]
}
