import { nextAfter, nextDues, readCron } from '../../shared/time/cron.ts'
import { findOverdue, type Overdue, type Watch } from '../../store/nights/overdue.ts'
import type { Refusal, Schedule } from './schedule.ts'
import type { Plan } from './file.ts'
import type { Database } from '../../store/database.ts'
import { databaseNow } from '../../store/nights/nights.ts'
import {
  countNights,
  readLastNights,
  readOutlook,
  type LastNight,
} from '../../store/nights/outlook.ts'
import { dayMs } from '../../shared/time/duration.ts'

/** One schedule as people see it. */
export interface ScheduleView {
  readonly schedule: Schedule
  /** Empty for a schedule that is off. */
  readonly next: readonly Date[]
  readonly last: LastNight | null
  readonly overdue: readonly Overdue[]
  /** Nights of the last days, by what became of them. */
  readonly lately: Readonly<Record<string, number>>
}

export interface Outlook {
  readonly schedules: readonly ScheduleView[]
  readonly refusals: readonly Refusal[]
}

const shownTimes = 3

/** How far back nights are counted. */
export const latelyDays = 7

/** What comes next, what came last, and what ought to have come. */
export async function readNightOutlook(db: Database, plan: Plan): Promise<Outlook> {
  const now = await databaseNow(db)
  const last = new Map((await readLastNights(db)).map((night) => [night.schedule, night]))
  const overdue = await overdueNights(db, now)
  const counts = await countNights(db, new Date(now.getTime() - latelyDays * dayMs))
  const schedules = plan.schedules.map((schedule) => ({
    schedule,
    next: schedule.on
      ? nextDues(schedule.cron, schedule.zone, { after: now, count: shownTimes }).map(
          ({ at }) => at,
        )
      : [],
    last: last.get(schedule.name) ?? null,
    overdue: overdue.filter(({ schedule: name }) => name === schedule.name),
    lately: Object.fromEntries(
      counts
        .filter(({ schedule: name }) => name === schedule.name)
        .map(({ outcome, nights }) => [outcome, nights]),
    ),
  }))
  return { schedules, refusals: plan.refusals }
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
  const overdue = await overdueNights(db, now)
  return (await readOutlook(db)).map(({ name, cron, zone }) => ({
    schedule: name,
    zone,
    last: last.get(name) ?? null,
    next: nextAfter(cron, zone, now),
    overdue: overdue.filter(({ schedule }) => schedule === name),
  }))
}
