import { latelyDays, type Outlook, type ScheduleView } from './outlook.ts'
import { describeLastNight } from '../status/nights.ts'
import { sharePhrase, sharesPhrase } from './shares.ts'
import { formatTable } from '../../shared/terminal/table.ts'
import { formatMinute } from '../../shared/time/zone.ts'

/** The schedules for people: a table for each, then the lines of the file that cannot be used. */
export function formatNights({ schedules, refusals }: Outlook): string {
  const parts: string[] = []
  if (schedules.length === 0) parts.push('No schedule can be used.')
  for (const view of schedules) parts.push(formatSchedule(view))
  for (const { line, problem } of refusals) parts.push(`refused, line ${line}: ${problem}`)
  return parts.join('\n\n')
}

function formatSchedule(view: ScheduleView): string {
  const { schedule, next, last, overdue } = view
  const { name, on, cron, zone } = schedule
  const minute = (time: Date) => formatMinute(zone, time)
  const rows = [
    ['list', schedule.list],
    ['rules', rulesOf(view)],
    ['next', next.length === 0 ? 'never, it is off' : next.map(minute).join(', ')],
    ['last', describeLastNight(zone, last)],
    ['lately', latelyOf(view)],
    ...overdue.map(({ dueAt, problem }) => ['OVERDUE', `${minute(dueAt)}: ${problem}`]),
  ]
  const table = formatTable(['', ''], rows, { widest: null })
  // The heads of the table are empty: its first line holds nothing.
  const body = table.split('\n').filter((text) => text.trim() !== '')
  const head = `${name}${on ? '' : ' (off)'}: ${cron.sentence}, ${zone}`
  return [head, ...body.map((text) => `  ${text}`)].join('\n')
}

function rulesOf({ schedule }: ScheduleView): string {
  const budget = schedule.budget === null ? '' : `, at most ${schedule.budget} credits a night`
  const part =
    schedule.part === null ? '' : `, ${sharePhrase(schedule.part)} of the credits if they run short`
  const shares = schedule.shares.length === 0 ? '' : `, shares: ${sharesPhrase(schedule.shares)}`
  return `missed: ${schedule.missed}, overlap: ${schedule.overlap}${budget}${part}${shares}`
}

function latelyOf({ lately }: ScheduleView): string {
  const counts = Object.entries(lately).map(([outcome, nights]) => `${nights} ${outcome}`)
  return `${counts.join(', ') || 'none'} in the last ${latelyDays} days`
}

/** The schedules for programs. */
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
      part: schedule.part,
      shares: schedule.shares,
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
