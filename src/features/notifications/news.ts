// Finds events, and sends one notice about each event.

import { say } from '../../base/cli/command.ts'
import { npmRun } from '../../base/cli/commands.ts'
import { count, firstNames } from '../../base/cli/text.ts'
import type { Webhook } from '../../base/config.ts'
import { clock, clockBefore, clockIn, utcText } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { lockName } from '../../base/database/lock.ts'
import { readRows, statement } from '../../base/database/sql-file.ts'
import { reasonOf } from '../../base/errors.ts'
import { scrubbedReason } from '../../base/secret.ts'
import { dayMs, formatInstant } from '../../base/time/zone.ts'
import { late, within } from '../../base/waiting.ts'
import type { Mill } from '../../core/mill.ts'
import { type Overdue, overdueNights } from '../../core/nights/nights.ts'
import { countOpenTasks } from '../../core/runs/waits.ts'
import { post, refusalOf } from './webhook.ts'

// After a long pause, a process reports only events that are younger than this.
const noticeAgeMs = 3_600_000

interface NoticeOptions {
  readonly webhook: Webhook
  /** Time after which open tasks without a worker are reported; 0 means never. */
  readonly unattendedMs: number
}

/** Records events and sends notices periodically, one check at a time. Purchases never wait for a check. */
export function startNotices(
  db: Database,
  options: NoticeOptions & { readonly everyMs: number; readonly report: (line: string) => void },
) {
  const { everyMs, report } = options
  let looking: Promise<unknown> | null = null
  let lastProblem: string | null = null
  const tell = async () => {
    const problem = await sendNotices(db, options)
    looking = null
    // A recurring problem is reported only once. The process continues, and the next check retries.
    if (problem !== null && problem !== lastProblem) report(problem)
    lastProblem = problem
  }
  const look = () => (looking ??= tell())
  const timer = setInterval(() => void look(), everyMs)
  return {
    close: async () => {
      clearInterval(timer)
      // A last check sends the newest events, such as the end of the run.
      await within(Promise.resolve(looking).then(look), { ms: everyMs })
    },
  }
}

// A single tick sends notices, in case no other process is running, and must end before the next tick.
const sendWithinMs = 15_000

/** Performs one check at the end of a tick. After a time limit, the remaining notices are left to the next process. */
export async function sendBeforeEnd({ db, config }: Pick<Mill, 'db' | 'config'>): Promise<void> {
  const { webhook, unattendedMs } = config
  if (webhook === null) return
  const sent = await within(sendNotices(db, { webhook, unattendedMs }), { ms: sendWithinMs })
  if (sent === null) return
  const problem = sent === late ? 'the webhook is slow' : sent
  say(`${problem}; unsent notices are kept and sent later`)
}

/** Records events and sends due notices. Returns the reason for a failure, or null if nothing failed. */
export async function sendNotices(db: Database, options: NoticeOptions): Promise<string | null> {
  try {
    await recordNotices(db, options)
    return await deliver(db, options.webhook)
  } catch (error) {
    return `notices cannot be read: ${scrubbedReason(error)}`
  }
}

/** Stores the events that no process has recorded yet, so that notices are sent even if this process dies. */
export async function recordNotices(
  db: Database,
  { webhook: { events }, unattendedMs }: NoticeOptions,
): Promise<void> {
  const seen: SeenEvent[] = []
  if (events.includes('night_overdue')) seen.push(...(await overdueNights(db)).map(overdueNotice))
  if (events.includes('work_unattended') && unattendedMs > 0) {
    seen.push(...(await readUnattended(db, unattendedMs)))
  }
  await db.transaction().execute(async (trx) => {
    const since = new Date(Date.now() - noticeAgeMs)
    await recordNews(trx, since, events)
    if (events.includes('new_field')) {
      seen.push(...(await takeNewFields(trx, since)).map(newFieldNotice))
    }
    if (seen.length === 0) return
    const rows = seen.map(({ fields, ...event }) => ({ ...event, fields: JSON.stringify(fields) }))
    await trx
      .insertInto('notices')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  })
}

/** Records each event found in the tables only once, even if several processes check at the same time. */
export async function recordNews(trx: Database, since: Date, kinds: readonly string[]) {
  await lockName(trx, 'querymill notices')
  const parameters = { since, kinds, alerts: npmRun('alerts') }
  await trx.executeQuery(statement('take_news', parameters))
}

/** An event that `recordNews` cannot detect, in the form stored as a notice. */
type SeenEvent = Record<'kind' | 'subject' | 'said', string> & { readonly fields: object }

function overdueNotice({ schedule, dueAt, problem }: Overdue): SeenEvent {
  return {
    kind: 'night_overdue',
    subject: `${schedule} ${dueAt.toISOString()}`,
    said: `querymill: ${schedule}, due ${formatInstant(dueAt)}: ${problem}`,
    fields: { schedule, due_at: dueAt, problem },
  }
}

function newFieldNotice({ found, ...about }: NewFields): SeenEvent {
  const { run, list, run_date: date, api } = about
  const named = found.map(({ place, field, answers }) => {
    return `${place === 'answer' ? '' : 'result.'}${field} (${count(answers, 'answer')})`
  })
  return {
    kind: 'new_field',
    subject: `${run} ${api}`,
    said: `querymill: answers from ${api} in run ${run} of ${list} for ${date} have fields that no earlier answer had: ${firstNames(named)}; ${npmRun('sql --')} answers --show fields`,
    fields: { ...about, fields: found },
  }
}

// Time after which another process sends the notices that a killed process had claimed. A receiver must
// respond within this time.
const claimMs = 60_000
const pausesMs = [5_000, 15_000, 60_000, 300_000, 900_000, 1_800_000] as const
// A receiver that is down overnight is usually available again in the morning.
const deliverForMs = dayMs

/** Status codes for errors in the rejected notice itself. Any other failure would affect every notice. */
const ownFault = new Set([400, 413, 422])

/** Sends due notices one after another. Returns the reason for a failure, or null if nothing failed. */
async function deliver(db: Database, webhook: Webhook): Promise<string | null> {
  let problem: string | null = null
  for (;;) {
    const notice = await claimNotice(db, { kinds: webhook.events, forMs: claimMs })
    if (notice === undefined) return problem
    const failure = await tryOnce(webhook, notice)
    if (failure === null) {
      const sent = db.updateTable('notices').set({ told_at: clock, problem: null })
      await sent.where('id', '=', notice.id).execute()
      continue
    }
    const usual = pausesMs[notice.tries - 1] ?? pausesMs.at(-1) ?? claimMs
    const waitMs = Math.max(failure.posted?.waitMs ?? 0, usual * (1 + Math.random() / 10))
    const gone = await putOffNotice(db, notice.id, { problem: failure.problem, waitMs })
    problem = gone ? `${failure.problem}; delivery was given up after a day` : failure.problem
    if (!ownFault.has(failure.posted?.status ?? 0)) return problem
  }
}

/** Sends a notice once. Returns null if the receiver accepted the notice; otherwise, the reason and any reply. */
async function tryOnce(webhook: Webhook, notice: Parameters<typeof post>[1]) {
  try {
    const posted = await post(webhook, notice)
    return posted.ok ? null : { problem: refusalOf(posted), posted }
  } catch (error) {
    return { problem: reasonOf(error), posted: null }
  }
}

/** Claims the oldest due notice for a limited time. Concurrent processes claim different notices. */
export async function claimNotice(
  db: Database,
  { kinds, forMs }: { readonly kinds: readonly string[]; readonly forMs: number },
) {
  return db
    .updateTable('notices')
    .set((eb) => ({ tries: eb('tries', '+', 1), due_at: clockIn(forMs) }))
    .where('id', '=', (eb) =>
      eb
        .selectFrom('notices')
        .select('id')
        .where('told_at', 'is', null)
        .where('given_up_at', 'is', null)
        .where('part_of', 'is', null)
        .where('due_at', '<=', clock)
        .where('kind', '=', eb.fn.any(sql<string[]>`${kinds}::text[]`))
        .orderBy('due_at')
        .orderBy('noted_at')
        .limit(1)
        .forUpdate()
        .skipLocked(),
    )
    .returning((eb) => [
      'id',
      'kind',
      'said as text',
      eb.ref('fields').$castTo<Record<string, unknown>>().as('fields'),
      'tries',
      utcText(eb.ref('noted_at')).as('at'),
    ])
    .executeTakeFirst()
}

/** Postpones a notice after a failure. Returns true if the notice was too old and was therefore abandoned. */
async function putOffNotice(
  db: Database,
  id: string,
  { problem, waitMs }: { readonly problem: string; readonly waitMs: number },
): Promise<boolean> {
  const put = await db
    .updateTable('notices')
    .set((eb) => ({
      problem,
      due_at: clockIn(waitMs),
      given_up_at: eb.case().when('noted_at', '<', clockBefore(deliverForMs)).then(clock).end(),
    }))
    .where('id', '=', id)
    .where('told_at', 'is', null)
    .returning('given_up_at')
    .executeTakeFirst()
  return put !== undefined && put.given_up_at !== null
}

export type NoticeRow = Awaited<ReturnType<typeof listNotices>>[number]

export async function listNotices(db: Database, limit: number) {
  return db
    .selectFrom('notices')
    .select((eb) => [
      'id',
      'kind as event',
      eb
        .case()
        .when('told_at', 'is not', null)
        .then(sql.lit('told' as const))
        .when('given_up_at', 'is not', null)
        .then(sql.lit('given up' as const))
        .else(sql.lit('waiting' as const))
        .end()
        .as('state'),
      utcText(eb.ref('noted_at')).as('noted_at'),
      utcText(eb.ref('told_at')).as('told_at'),
      'tries',
      'said as text',
      'problem',
    ])
    .where('part_of', 'is', null)
    .orderBy('notices.noted_at', 'desc')
    .orderBy('kind')
    .orderBy('subject')
    .limit(limit)
    .execute()
}

export async function countNotices(db: Database) {
  return db
    .selectFrom('notices')
    .select(({ fn }) => [
      fn.countAll<number>().filterWhere('given_up_at', 'is', null).as('waiting'),
      fn.countAll<number>().filterWhere('given_up_at', '>', clockBefore(dayMs)).as('given_up'),
    ])
    .where('told_at', 'is', null)
    .where('part_of', 'is', null)
    .executeTakeFirstOrThrow()
}

/** Reports each period in which tasks were open for the given time without a live worker as one event. */
async function readUnattended(db: Database, forMs: number): Promise<readonly SeenEvent[]> {
  const [found] = await readRows<{ since: Date }>(db, 'unattended_since', { for_ms: forMs })
  const tasks = found === undefined ? 0 : await countOpenTasks(db)
  if (found === undefined || tasks === 0) return []
  const { since } = found
  const said = `querymill: ${count(tasks, 'open task')}, but no worker has run since ${formatInstant(since)}; to start a worker: ${npmRun('work')}`
  const subject = since.toISOString()
  return [{ kind: 'work_unattended', subject, said, fields: { tasks, since } }]
}

interface NewFields {
  readonly run: number
  readonly list: string
  readonly run_date: string
  readonly api: string
  readonly found: readonly {
    readonly place: 'answer' | 'result'
    readonly field: string
    readonly answers: number
  }[]
}

/** Finds fields that the API sent for the first time, in runs that ended after `since`. Each run is checked once. */
async function takeNewFields(db: Database, since: Date): Promise<readonly NewFields[]> {
  const runs = await db
    .updateTable('runs')
    .set({ fields_read_at: clock })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('runs')
        .select('id')
        .where('state', 'in', ['done', 'cancelled'])
        .where('finished_at', '>', since)
        .where('fields_read_at', 'is', null)
        .orderBy('id')
        .forUpdate()
        .skipLocked(),
    )
    .returning('id')
    .execute()
  const found: NewFields[] = []
  const together = runs.map(({ id }) => id).toSorted((a, b) => a - b)
  for (const run of together) {
    found.push(...(await readRows<NewFields>(db, 'take_fields', { run, together })))
  }
  return found
}
