import { nextDues } from '../../shared/time/cron.ts'
import { overdueNights, type Overdue } from '../../store/nights/overdue.ts'
import type { RefusedLine, Schedule } from './schedule.ts'
import type { ScheduleFile } from './file.ts'
import type { Database } from '../../store/database.ts'
import { databaseNow } from '../../store/nights/nights.ts'
import { countNights, readLastNights, type LastNight } from '../../store/nights/outlook.ts'
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

/** What the file's schedules have done and will do, and which lines of it are refused. */
export interface Outlook {
  readonly schedules: readonly ScheduleView[]
  readonly refusals: readonly RefusedLine[]
}

const shownTimes = 3

/** How far back nights are counted. */
export const latelyDays = 7

/** Next times, last nights and overdue nights of every schedule of the file. */
export async function readNightOutlook(db: Database, file: ScheduleFile): Promise<Outlook> {
  const now = await databaseNow(db)
  const last = new Map((await readLastNights(db)).map((night) => [night.schedule, night]))
  const overdue = await overdueNights(db, now)
  const counts = await countNights(db, new Date(now.getTime() - latelyDays * dayMs))
  const schedules = file.schedules.map((schedule) => ({
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
  return { schedules, refusals: file.refusals }
}
