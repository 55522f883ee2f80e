import { overdueNights, type Overdue } from '../../store/nights/overdue.ts'
import type { Database } from '../../store/database.ts'
import { giveBack, takeNews, takeNotice, type News } from '../../store/operator/news.ts'
import { reasonOf, unhandled } from '../../shared/errors.ts'
import { within } from '../../shared/waiting.ts'
import { post, type Notice } from './webhook.ts'

// A process that starts after a long time tells nothing older than this, and what failed to go out is tried for so long.
const newsAgeMs = 3_600_000

export interface NewsOptions {
  /** Where notices go. */
  readonly url: URL
  readonly tell: (line: string) => void
  /** How long to wait before each further try of a notice. */
  readonly pauses?: number[]
}

/** A notice, with everything that it stands for: many missed nights are one line. */
interface Bundle {
  readonly notice: Notice
  readonly news: readonly { readonly kind: string; readonly subject: string }[]
}

/** Posts news at intervals, one look at a time; work never waits for it. */
export function startNews(
  db: Database,
  { everyMs, ...options }: NewsOptions & { readonly everyMs: number },
): { close: () => Promise<void> } {
  let looking: Promise<unknown> | null = null
  let unreadable = false
  const tryToPost = async () => {
    try {
      await postNews(db, options)
      unreadable = false
    } catch (error) {
      // Said once: work goes on without news, and so do the tries.
      if (!unreadable) options.tell(`news cannot be read: ${reasonOf(error)}`)
      unreadable = true
    }
  }
  const look = () => {
    looking ??= tryToPost().finally(() => {
      looking = null
    })
    return looking
  }
  const timer = setInterval(() => void look(), everyMs)
  // What happened in the last moments, such as the end of the run, goes out as well.
  const lastLook = async () => {
    await looking
    await look()
  }
  return {
    close: async () => {
      clearInterval(timer)
      await within(lastLook(), { ms: everyMs })
    },
  }
}

/** Posts to the webhook what no process has posted yet; what could not be posted is given back for a later look. */
export async function postNews(db: Database, { url, tell, pauses }: NewsOptions): Promise<number> {
  const happened = await takeNews(db, new Date(Date.now() - newsAgeMs))
  const bundles = [...bundle(happened), ...(await noticeOverdue(db, await overdueNights(db)))]
  let posted = 0
  for (const { notice, news } of bundles) {
    try {
      await post(url, notice, pauses)
      posted += 1
    } catch (error) {
      await giveBack(db, news)
      tell(reasonOf(error))
    }
  }
  return posted
}

async function noticeOverdue(db: Database, nights: readonly Overdue[]): Promise<Bundle[]> {
  const found: Bundle[] = []
  for (const { schedule, dueAt, problem } of nights) {
    const kind = 'night_overdue'
    const subject = `${schedule} ${dueAt.toISOString()}`
    if (!(await takeNotice(db, kind, subject))) continue
    const text = `querymill: ${schedule}, due ${dueAt.toISOString()}: ${problem}`
    const fields = { schedule, due_at: dueAt }
    found.push({ notice: { kind, subject, text, fields }, news: [{ kind, subject }] })
  }
  return found
}

function bundle(news: readonly News[]): Bundle[] {
  const bundles: Bundle[] = []
  const nights = new Map<string, News[]>()
  for (const one of news) {
    if ('schedule' in one) {
      const key = `${one.kind} ${one.schedule}`
      nights.set(key, [...(nights.get(key) ?? []), one])
    } else
      bundles.push({ notice: { ...one, text: textOf([one]), fields: fieldsOf(one) }, news: [one] })
  }
  for (const same of nights.values()) {
    const newest = same.at(-1)
    if (newest === undefined) continue
    const fields = { ...fieldsOf(newest), nights: same.length }
    bundles.push({ notice: { ...newest, text: textOf(same), fields }, news: same })
  }
  return bundles
}

function fieldsOf(news: News): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(news).filter(([name]) => name !== 'kind' && name !== 'subject'),
  )
}

function textOf(same: readonly News[]): string {
  const news = same.at(-1)
  if (news === undefined) return ''
  switch (news.kind) {
    case 'run_finished': {
      const counts = Object.entries(news.tasks).map(([state, count]) => `${count} ${state}`)
      const what = news.state === 'done' ? 'is finished' : 'was ended'
      return `querymill: run ${news.run} of ${news.list} for ${news.run_date} ${what}: ${counts.join(', ') || 'no tasks'}; ${news.spent} credits used`
    }
    case 'stop':
      return `querymill: account ${news.account} stands still (${news.reason})${news.detail === null ? '' : `: ${news.detail}`}`
    case 'night_missed':
    case 'night_skipped':
    case 'night_late':
    case 'night_failed': {
      const times = same.length === 1 ? news.due_at : `${same.length} times up to ${news.due_at}`
      const why = news.note === null ? '' : `: ${news.note}`
      return `querymill: ${news.schedule}, due ${times}, ${outcomes[news.kind]}${why}`
    }
    default:
      throw unhandled('news', news)
  }
}

const outcomes = {
  night_missed: 'was missed',
  night_skipped: 'was skipped',
  night_late: 'runs late',
  night_failed: 'failed',
} as const
