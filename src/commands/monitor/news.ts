import type { Webhook } from '../../shared/reading.ts'
import { say } from '../../shared/terminal/command.ts'
import { late, within } from '../../shared/waiting.ts'
import type { Mill } from '../mill/mill.ts'
import { overdueNights } from '../../store/nights/overdue.ts'
import type { Database } from '../../store/database.ts'
import { takeNewFields } from '../../store/operator/fields.ts'
import { takeNews, takeNotice } from '../../store/operator/news.ts'
import { describeNotices, type Noted } from '../../store/operator/notices.ts'
import { readUnattended } from '../../store/operator/unattended.ts'
import { scrubbedReason } from '../../shared/secret.ts'
import { deliver } from './deliver.ts'
import { composeNotices, newFieldNotice, overdueNotice, unattendedNotice } from './words.ts'

// A process that starts after a long time tells nothing that is older than this.
const newsAgeMs = 3_600_000

export interface NewsOptions {
  readonly webhook: Webhook
  /** Open work without a worker is told of after this; 0: never. */
  readonly unattendedMs: number
  readonly tell: (line: string) => void
}

/** Notes news and sends notices at intervals, one look at a time; work never waits for it. */
export function startNews(
  db: Database,
  { everyMs, ...options }: NewsOptions & { readonly everyMs: number },
): { close: () => Promise<void> } {
  let looking: Promise<unknown> | null = null
  let said: string | null = null
  const tryToTell = async () => {
    const problem = await tellNews(db, options)
    // Said once: work goes on without news, and so do the tries.
    if (problem !== null && problem !== said) options.tell(problem)
    said = problem
  }
  const look = () => {
    looking ??= tryToTell().finally(() => {
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

// Beside a tick nobody else may be there who tells: it waits for a slow receiver, but not for the next minute's tick.
const tellWithinMs = 15_000

/** One look, for a tick that ends. */
export async function tellBeforeEnd({ db, config }: Pick<Mill, 'db' | 'config'>): Promise<void> {
  const { webhook, unattendedMs } = config
  if (webhook === null) return
  await tellOnce(db, { webhook, unattendedMs, tell: say, withinMs: tellWithinMs })
}

/** One look, for a command that ends: it waits so long, and what is not told by then is kept for the next process. */
export async function tellOnce(
  db: Database,
  { withinMs, ...options }: NewsOptions & { readonly withinMs: number },
): Promise<void> {
  const told = await within(tellNews(db, options), { ms: withinMs })
  if (told === null) return
  const problem = told === late ? 'the webhook takes its time' : told
  options.tell(`${problem}; what is not told is kept, and tried again`)
}

/** Notes what happened and sends what is due; gives back why something could not be sent, null when nothing failed. */
export async function tellNews(
  db: Database,
  options: Pick<NewsOptions, 'webhook' | 'unattendedMs'>,
): Promise<string | null> {
  try {
    await noteNews(db, options)
    return await deliver(db, options.webhook)
  } catch (error) {
    return `news cannot be read: ${scrubbedReason(error)}`
  }
}

/** Writes down what no process has noted yet: from then on it is told, whichever process lives on. */
export async function noteNews(
  db: Database,
  { webhook: { events }, unattendedMs }: Pick<NewsOptions, 'webhook' | 'unattendedMs'>,
): Promise<number> {
  const seen: Noted[] = []
  if (events.includes('night_overdue')) seen.push(...(await overdueNights(db)).map(overdueNotice))
  if (events.includes('work_unattended') && unattendedMs > 0) {
    const unattended = await readUnattended(db, unattendedMs)
    if (unattended !== null) seen.push(unattendedNotice(unattended))
  }
  // Together: a notice that is noted without its words would never be told.
  return db.transaction().execute(async (trx) => {
    const since = new Date(Date.now() - newsAgeMs)
    const notices = composeNotices(await takeNews(trx, since, events))
    if (events.includes('new_field')) {
      seen.push(...(await takeNewFields(trx, since)).map(newFieldNotice))
    }
    for (const one of seen) {
      if (await takeNotice(trx, one.kind, one.subject)) notices.push(one)
    }
    await describeNotices(trx, notices)
    return notices.length
  })
}
