import { unhandled } from '../../shared/errors.ts'
import { count, firstNames } from '../../shared/terminal/wording.ts'
import { formatInstant } from '../../shared/time/zone.ts'
import type { Overdue } from '../../store/nights/overdue.ts'
import type { NewFields } from '../../store/operator/fields.ts'
import type { News, ToldRecovery } from '../../store/operator/news.ts'
import type { Noted } from '../../store/operator/notices.ts'
import type { Unattended } from '../../store/operator/unattended.ts'

/** One notice for each piece of news; nights of one schedule that met with the same are told together. */
export function composeNotices(news: readonly News[]): Noted[] {
  const notices: Noted[] = []
  const nights = new Map<string, News[]>()
  for (const one of news) {
    if ('schedule' in one) {
      const key = `${one.kind} ${one.schedule}`
      nights.set(key, [...(nights.get(key) ?? []), one])
    } else
      notices.push({ ...subjectOf(one), text: textOf([one]), fields: fieldsOf(one), others: [] })
  }
  for (const same of nights.values()) {
    const newest = same.at(-1)
    if (newest === undefined) continue
    const fields = { ...fieldsOf(newest), nights: same.length }
    const others = same.slice(0, -1).map(subjectOf)
    notices.push({ ...subjectOf(newest), text: textOf(same), fields, others })
  }
  return notices
}

/** A night of which nothing has become. */
export function overdueNotice({ schedule, dueAt, problem }: Overdue): Noted {
  return {
    kind: 'night_overdue',
    subject: `${schedule} ${dueAt.toISOString()}`,
    text: `querymill: ${schedule}, due ${formatInstant(dueAt)}: ${problem}`,
    fields: { schedule, due_at: dueAt, problem },
    others: [],
  }
}

/** Open tasks that nobody works on. */
export function unattendedNotice({ since, tasks }: Unattended): Noted {
  return {
    kind: 'work_unattended',
    subject: since.toISOString(),
    text: `querymill: ${count(tasks, 'open task')}, and no worker since ${formatInstant(since)}: start one (npm run work)`,
    fields: { tasks, since },
    others: [],
  }
}

/** Fields that an API never sent before. */
export function newFieldNotice({ found, ...about }: NewFields): Noted {
  const { run, list, run_date: date, api } = about
  const named = found.map(({ place, field, answers }) => {
    return `${place === 'answer' ? '' : 'result.'}${field} (${count(answers, 'answer')})`
  })
  return {
    kind: 'new_field',
    subject: `${run} ${api}`,
    text: `querymill: answers of ${api} in run ${run} of ${list} for ${date} carry what none had before: ${firstNames(named)}; npm run sql -- drift`,
    fields: { ...about, fields: found },
    others: [],
  }
}

function subjectOf({ kind, subject }: News) {
  return { kind, subject }
}

function fieldsOf(news: News): Record<string, unknown> {
  const { kind: _, subject: __, ...fields } = news
  return fields
}

function textOf(same: readonly News[]): string {
  const news = same.at(-1)
  if (news === undefined) return ''
  switch (news.kind) {
    case 'run_finished': {
      const counts = Object.entries(news.tasks).map(([state, number]) => `${number} ${state}`)
      const what = news.state === 'done' ? 'is finished' : 'was ended'
      return `querymill: run ${news.run} of ${news.list} for ${news.run_date} ${what}: ${counts.join(', ') || 'no tasks'}; ${news.spent} credits used`
    }
    case 'run_suspect':
    case 'run_odd': {
      const verdict =
        news.kind === 'run_odd' ? 'odd, and shown all the same' : 'suspect, and left out of trends'
      return `querymill: run ${news.run} of ${news.list} for ${news.run_date} is ${verdict}: ${news.reasons.join('; ')}`
    }
    case 'stop':
      return `querymill: account ${news.account} stands still (${news.reason})${news.detail === null ? '' : `: ${news.detail}`}`
    case 'night_missed':
    case 'night_skipped':
    case 'night_late':
    case 'night_failed': {
      const due = formatInstant(new Date(news.due_at))
      const times = same.length === 1 ? due : `${same.length} times up to ${due}`
      const why = news.note === null ? '' : `: ${news.note}`
      return `querymill: ${news.schedule}, due ${times}, ${outcomes[news.kind]}${why}`
    }
    case 'rank_alert':
      return `querymill: rank alert ${news.alert}: ${firstOf(news)}; ${news.alerts[0]?.question}`
    case 'rank_recovered':
      return news.because === null
        ? `querymill: rank alert ${news.alert} is over${nowAt(news.alerts[0])}. It was: ${firstOf(news)}; ${news.alerts[0]?.question}`
        : `querymill: rank alert ${news.alert} is taken back, ${news.because}: ${firstOf(news)}`
    default:
      throw unhandled('news', news)
  }
}

/** What one alert says, and how many more there are of its kind. */
function firstOf({ alerts, found }: Extract<News, { readonly alert: string }>): string {
  const more = found === 1 ? '' : ` (and ${found - 1} more: npm run alerts)`
  return `${alerts[0]?.text}${more}`
}

function nowAt(recovery: ToldRecovery | undefined): string {
  if (recovery === undefined) return ''
  const { run_date: date, position, share } = recovery
  if (share !== null) return ` on ${date}, at ${(share * 100).toFixed(2)} %`
  return position === null ? ` on ${date}` : ` on ${date}, at ${position}`
}

const outcomes = {
  night_missed: 'was missed',
  night_skipped: 'was skipped',
  night_late: 'runs late',
  night_failed: 'failed',
} as const
