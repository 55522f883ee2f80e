import { nextAfter } from '../../shared/time/cron.ts'
import { formatMinute } from '../../shared/time/zone.ts'
import type { Database } from '../../store/database.ts'
import { databaseNow } from '../../store/nights/nights.ts'
import { readLastNights, type LastNight } from '../../store/nights/outlook.ts'
import { findOverdue, readWatched, type Overdue } from '../../store/nights/overdue.ts'

/** One line for each schedule that is on or overdue: for those who look at the whole mill. */
export interface NightSummary {
  readonly schedule: string
  readonly zone: string
  readonly last: LastNight | null
  readonly next: Date | null
  readonly overdue: readonly Overdue[]
}

/** Schedules as the tables know them, without their file. */
export async function summariseNights(db: Database): Promise<readonly NightSummary[]> {
  const now = await databaseNow(db)
  const last = new Map((await readLastNights(db)).map((night) => [night.schedule, night]))
  const watched = await readWatched(db)
  const overdue = findOverdue(watched, now)
  return watched.map(({ name, cron, zone }) => ({
    schedule: name,
    zone,
    last: last.get(name) ?? null,
    next: cron === null ? null : nextAfter(cron, zone, now),
    overdue: overdue.filter(({ schedule }) => schedule === name),
  }))
}

/** One line for each schedule: what became of its last night, when the next one is due, what is overdue. */
export function nightSummaryLines(nights: readonly NightSummary[]): readonly string[] {
  return nights.flatMap(({ schedule, zone, last, next, overdue }) => [
    `nightly ${schedule}: last ${describeLastNight(zone, last)}; next ${next === null ? 'never' : `${formatMinute(zone, next)} ${zone}`}`,
    ...overdue.map(({ dueAt, problem }) => `  OVERDUE ${formatMinute(zone, dueAt)}: ${problem}`),
  ])
}

/** The newest night of a schedule in words. */
export function describeLastNight(zone: string, last: LastNight | null): string {
  if (last === null) return 'none yet'
  const outcome = last.outcome ?? 'waiting'
  const run =
    last.run === null
      ? ''
      : `, run ${last.run} ${last.run_state ?? ''}, ${last.tasks - last.open} of ${last.tasks} tasks done`
  const note = last.note === null ? '' : ` (${last.note})`
  return `${formatMinute(zone, last.due_at)} ${outcome}${run}${note}`
}
