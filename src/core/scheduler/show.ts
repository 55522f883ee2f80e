// Formats the schedules with their newest nights.

import { formatTable } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { nextAfter, nextDues } from '../../base/time/cron.ts'
import { dayMs, formatMinute } from '../../base/time/zone.ts'
import {
  countNights,
  databaseNow,
  findOverdue,
  type LastNight,
  readLastNights,
  readWatched,
} from '../nights/nights.ts'
import { type ScheduleFile, sharePhrase, sharesPhrase } from './schedule.ts'

export function formatNights({ schedules, refusals }: Forecast): string {
  const parts: string[] = []
  if (schedules.length === 0) parts.push('No schedule can be used.')
  for (const view of schedules) parts.push(formatSchedule(view))
  for (const { line, problem } of refusals) parts.push(`line ${line} was refused: ${problem}`)
  return parts.join('\n\n')
}

function formatSchedule(view: ScheduleView): string {
  const { schedule, next, last, overdue } = view
  const { name, on, cron, zone } = schedule
  const minute = (time: Date) => formatMinute(zone, time)
  const rows = [
    ['list', schedule.list],
    ['rules', rulesOf(view)],
    ['next', next.length === 0 ? 'never (the schedule is off)' : next.map(minute).join(', ')],
    ['last', describeLastNight(zone, last)],
    ['recent', recentOutcomes(view)],
    ...overdue.map(({ dueAt, problem }) => ['OVERDUE', `${minute(dueAt)}: ${problem}`]),
  ]
  const table = formatTable(['', ''], rows, { widest: null })
  // Removes the first line, which is empty because the header is blank.
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

function recentOutcomes({ lately }: ScheduleView): string {
  const counts = Object.entries(lately).map(([outcome, nights]) => `${nights} ${outcome}`)
  return `${counts.join(', ') || 'none'} in the last ${latelyDays} days`
}

export function nightsJson({ schedules, refusals }: Forecast) {
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
      last: lastJson(last),
      lately,
      overdue: overdue.map(({ dueAt, problem }) => ({ due_at: dueAt, problem })),
    })),
    refused: refusals,
  }
}

function lastJson(last: LastNight | null) {
  if (last === null) return null
  const { schedule: _, run_state: state, ...night } = last
  return { ...night, state }
}

export type Forecast = Awaited<ReturnType<typeof readNightForecast>>

type ScheduleView = Forecast['schedules'][number]

const latelyDays = 7

export async function readNightForecast(db: Database, file: ScheduleFile) {
  const { now, outlookOf } = await readOutlooks(db)
  const counts = await countNights(db, new Date(now.getTime() - latelyDays * dayMs))
  const schedules = file.schedules.map((schedule) => ({
    schedule,
    next: nextDues(schedule.cron, schedule.zone, { after: now, count: schedule.on ? 3 : 0 }).map(
      ({ at }) => at,
    ),
    ...outlookOf(schedule.name),
    lately: Object.fromEntries<number>(
      counts.flatMap(({ schedule: name, outcome, nights }) =>
        name === schedule.name ? [[outcome, nights]] : [],
      ),
    ),
  }))
  return { schedules, refusals: file.refusals }
}

export type NightSummary = Awaited<ReturnType<typeof summariseNights>>[number]

/** Reads the stored schedules, and each schedule's last night and overdue nights. */
async function readOutlooks(db: Database) {
  const now = await databaseNow(db)
  const last = new Map((await readLastNights(db)).map((night) => [night.schedule, night]))
  const watched = await readWatched(db)
  const overdue = findOverdue(watched, now)
  const outlookOf = (name: string) => ({
    last: last.get(name) ?? null,
    overdue: overdue.filter(({ schedule }) => schedule === name),
  })
  return { now, watched, outlookOf }
}

export async function summariseNights(db: Database) {
  const { now, watched, outlookOf } = await readOutlooks(db)
  return watched.map(({ name, cron, zone }) => ({
    schedule: name,
    zone,
    next: cron === null ? null : nextAfter(cron, zone, now),
    ...outlookOf(name),
  }))
}

export function nightSummaryLines(nights: readonly NightSummary[]): readonly string[] {
  return nights.flatMap(({ schedule, zone, last, next, overdue }) => [
    `nightly ${schedule}: last ${describeLastNight(zone, last)}; next ${next === null ? 'never' : `${formatMinute(zone, next)} ${zone}`}`,
    ...overdue.map(({ dueAt, problem }) => `  OVERDUE ${formatMinute(zone, dueAt)}: ${problem}`),
  ])
}

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
