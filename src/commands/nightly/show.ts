import { latelyDays, type Outlook, type ScheduleView } from './outlook.ts'
import { describeLastNight } from '../status/nights.ts'
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
      last: describeLastNight(schedule.zone, view.last),
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
