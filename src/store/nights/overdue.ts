import { nextDues, readCron, type Cron } from '../../shared/time/cron.ts'
import type { Database } from '../database.ts'
import { databaseNow } from './nights.ts'
import { readOutlook } from './outlook.ts'

// Twice the time within which a night counts as on time: a scheduler that is there has decided long before.
const patienceMs = 10 * 60_000

/** What is kept about a schedule between two ticks. */
export interface Watch {
  readonly name: string
  readonly cron: Cron
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

/** Nights of which nothing has become although they ought to have; no file is needed to know. */
export async function overdueNights(db: Database, now?: Date): Promise<readonly Overdue[]> {
  const watches = (await readOutlook(db)).flatMap((row): Watch[] => {
    const reading = readCron(row.cron)
    if (reading.kind === 'problem') return []
    return [{ ...row, cron: reading.cron, known: row.known_until }]
  })
  return watches.length === 0 ? [] : findOverdue(watches, now ?? (await databaseNow(db)))
}

/** What nobody has decided although it is long due, and what has waited until the next night is due as well. */
export function findOverdue(watches: readonly Watch[], now: Date): Overdue[] {
  return watches.flatMap((watch) => [...undecided(watch, now), ...stuck(watch, now)])
}

function undecided({ name, cron, zone, known }: Watch, now: Date): Overdue[] {
  const first = nextDues(cron, zone, { after: known, count: 1 })[0]
  if (first === undefined || first.at.getTime() + patienceMs > now.getTime()) return []
  const problem = 'it was due and nobody decided: is the scheduler running? (npm run nightly)'
  return [{ schedule: name, dueAt: first.at, problem }]
}

function stuck({ name, cron, zone, waiting }: Watch, now: Date): Overdue[] {
  if (waiting === null) return []
  const next = nextDues(cron, zone, { after: waiting, count: 1 })[0]
  if (next === undefined || next.at.getTime() + patienceMs > now.getTime()) return []
  const problem = 'it still waits for an older run although the next one is due as well'
  return [{ schedule: name, dueAt: waiting, problem }]
}
