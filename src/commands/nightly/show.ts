import { latelyDays, type NightSummary, type Outlook, type ScheduleView } from './outlook.ts'
import type { LastNight } from '../../store/nights/outlook.ts'
import type { NightLine } from './table.ts'
import { formatMinute } from '../../shared/time/zone.ts'

/** The schedules in words. */
export function nightLines({ schedules }: Outlook): readonly NightLine[] {
  return schedules.map((view) => {
    const { schedule, next, overdue } = view
    const minute = (time: Date) => formatMinute(schedule.zone, time)
    return {
      name: schedule.name,
      list: schedule.list,
      sentence: schedule.cron.sentence,
      zone: schedule.zone,
      on: schedule.on,
      rules: rulesOf(view),
      next: next.map(minute),
      last: lastOf(schedule.zone, view.last),
      lately: latelyOf(view),
      overdue: overdue.map(({ dueAt, problem }) => `${minute(dueAt)}: ${problem}`),
    }
  })
}

function rulesOf({ schedule }: ScheduleView): string {
  const budget = schedule.budget === null ? '' : `, at most ${schedule.budget} credits a night`
  return `missed: ${schedule.missed}, overlap: ${schedule.overlap}${budget}`
}

function latelyOf({ lately }: ScheduleView): string {
  const counts = Object.entries(lately).map(([outcome, nights]) => `${nights} ${outcome}`)
  return `${counts.join(', ') || 'none'} in the last ${latelyDays} days`
}

function lastOf(zone: string, last: LastNight | null): string {
  if (last === null) return 'none yet'
  const outcome = last.outcome ?? 'waiting'
  const run =
    last.run === null
      ? ''
      : `, run ${last.run} ${last.run_state ?? ''}, ${last.tasks - last.open} of ${last.tasks} tasks done`
  const note = last.note === null ? '' : ` (${last.note})`
  return `${formatMinute(zone, last.due_at)} ${outcome}${run}${note}`
}

/** The same for programs. */
export function nightsJson({ schedules, refusals }: Outlook) {
  return {
    schedules: schedules.map(({ schedule, next, last, overdue, lately }) => ({
      schedule: schedule.name,
      line: schedule.line,
      list: schedule.list,
      cron: schedule.cron.pattern,
      sentence: schedule.cron.sentence,
      zone: schedule.zone,
      on: schedule.on,
      missed: schedule.missed,
      overlap: schedule.overlap,
      next,
      last:
        last === null
          ? null
          : {
              due_at: last.due_at,
              run_date: last.run_date,
              outcome: last.outcome,
              note: last.note,
              run: last.run,
              state: last.run_state,
              tasks: last.tasks,
              open: last.open,
            },
      lately,
      overdue: overdue.map(({ dueAt, problem }) => ({ due_at: dueAt, problem })),
    })),
    refused: refusals,
  }
}

/** One line for each schedule: what became of its last night, when the next one is due, what is overdue. */
export function summaryLines(nights: readonly NightSummary[]): readonly string[] {
  return nights.flatMap(({ schedule, zone, last, next, overdue }) => [
    `nightly ${schedule}: last ${lastOf(zone, last)}; next ${next === null ? 'never' : `${formatMinute(zone, next)} ${zone}`}`,
    ...overdue.map(({ dueAt, problem }) => `  OVERDUE ${formatMinute(zone, dueAt)}: ${problem}`),
  ])
}
