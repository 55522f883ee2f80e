// The reparse command: parses stored bodies again, without making calls.

import { flawOf, type Origin, otherQuery, type StoredAnswer } from '../../base/answer.ts'
import { type Call, printJson, say } from '../../base/cli/command.ts'
import { count } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database, Transaction } from '../../base/database/database.ts'
import { factTables } from '../../base/database/facts.ts'
import { sql } from '../../base/database/kysely.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { codeOf, type Exit, exits, reasonOf } from '../../base/errors.ts'
import { storeAnswers } from '../answers/store.ts'
import { insisting } from '../ledger/change-tasks.ts'
import { type Mill, openMill, type Supplier } from '../mill.ts'
import { rereadAnswer } from '../search/verdict.ts'
import { expectRun } from './run.ts'

interface ReparseOptions {
  readonly all?: true
  readonly run?: number
  readonly json?: true
}

type Books = Pick<Mill, 'db' | 'supplier'>

/** An answer with the result of parsing it again. */
type Again = ReturnType<typeof readAgain>

/** Called for each answer that can't be stored, with the reason. */
type Refuse = (call: number, reason: string) => void

const batch = 64
const mostReasons = 3

/** Runs the command and reports how many answers can be read now. */
export async function runReparse({ options, env, closers }: Call<ReparseOptions>): Promise<Exit> {
  const run = options.run ?? null
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'reparse', connections: 2 })
  if (run !== null) await expectRun(mill.db, run)
  const reasons = new Map<string, number>()
  const found = await reparse(mill, { all: options.all === true, run }, (call, reason) => {
    if (!reasons.has(reason)) reasons.set(reason, call)
  })
  if (options.json === true) printJson(found)
  say(`${count(found.read, 'answer')} read, ${found.unread} cannot be read and are unchanged`)
  if (found.marked > 0) {
    say(
      `${count(found.marked, 'answer')} marked: the API refused the query or answered another one, so they have no rows`,
    )
  }
  for (const line of refusalLines(found.refused, reasons)) say(line)
  if (found.bodiless > 0) say(`${count(found.bodiless, 'answer')} skipped: the body was pruned`)
  return found.unread + found.marked + found.refused > 0 ? exits.failures : exits.done
}

function refusalLines(refused: number, reasons: ReadonlyMap<string, number>): string[] {
  if (refused === 0) return []
  const shown = [...reasons].slice(0, mostReasons).map(([reason, call]) => `  ${call}: ${reason}`)
  const more =
    reasons.size > mostReasons ? [`  and ${reasons.size - mostReasons} more reasons`] : []
  return [
    `${count(refused, 'answer')} cannot be stored yet; the first call for each reason:`,
    ...shown,
    ...more,
  ]
}

/**
 * Parses stored bodies again with the current program, and stores answers that the database had rejected. Buys nothing.
 */
export async function reparse(
  { db, supplier }: Books,
  choice: BodyChoice,
  refuse: Refuse = () => undefined,
) {
  const bodiless = await countBodiless(db, choice)
  let [read, unread, marked, refused] = [0, 0, 0, 0]
  const put = async (answers: readonly Again[]) => {
    const stored = await store(db, answers, refuse)
    refused += answers.length - stored.length
    return stored
  }
  for await (const bodies of readBodies(db, choice, batch)) {
    const answers = bodies.map(readAgain)
    // An answer that can no longer be parsed keeps the rows from its earlier parse.
    const better = answers.filter(isReadable)
    read += (await put(better)).length
    // An answer that turns out to be wrong loses its rows: rows of a different query are worse than no rows.
    const wrong = answers.filter(isNewlyMarked)
    marked += (await put(wrong)).length
    unread += answers.length - better.length - wrong.length
  }
  // Answers rejected by the database come last: once such answers have rows, the loop above would read them as well.
  for await (const bodies of readRefused(db, { run: choice.run, buying: supplier }, batch)) {
    const known = bodies.filter(fromKnownApi)
    for (const { id } of bodies.filter((kept) => !fromKnownApi(kept))) refuse(id, strangeApi)
    refused += bodies.length - known.length
    const stored = await put(known.map(readAgain))
    const better = stored.filter(isReadable).length
    read += better
    unread += stored.length - better
  }
  if (marked > 0) await countWrongAnswers(db)
  return {
    /** Answers whose rows were replaced. */
    read,
    /** Answers that still can't be read and remain unchanged. */
    unread,
    /**
     * Answers that turned out to be a rejection or to answer a different query. Such answers are marked and lose their
     * rows.
     */
    marked,
    /** Answers whose rows the database rejects. The bodies of these answers are kept. */
    refused,
    /** Answers whose body was pruned. */
    bodiless,
  }
}

/** Adds answers to a different query to the count of their account, as settlement does. */
async function countWrongAnswers(db: Books['db']): Promise<void> {
  const marked = db
    .selectFrom('searches as s')
    .innerJoin('calls as c', 'c.id', 's.call_id')
    .where((eb) => eb.fn<boolean>('starts_with', ['s.parse_error', eb.val(otherQuery)]))
    .groupBy('c.account_id')
    .select(({ fn }) => ['c.account_id', fn.countAll<number>().as('answers')])
  await db
    .updateTable('accounts as a')
    .from(marked.as('marked'))
    .set(({ fn }) => ({
      wrong_answers: fn<number>('greatest', ['a.wrong_answers', 'marked.answers']),
    }))
    .whereRef('a.id', '=', 'marked.account_id')
    .execute()
}

const strangeApi =
  'the API that it came from is unknown; run the same command with SEARCH_API_URL, SEARCH_API_KEY and MILL_ACCOUNT as they were then'

function fromKnownApi(kept: RefusedBody): kept is KeptBody {
  return kept.api !== null
}

/** Stores answers in a batch, or one by one if the database rejects the batch. Returns the stored answers. */
async function store(
  db: Books['db'],
  answers: readonly Again[],
  refuse: Refuse,
): Promise<readonly Again[]> {
  try {
    await insisting(() =>
      db.transaction().execute((trx) => replaceAnswers(trx, answers.map(restore))),
    )
    return answers
  } catch (error) {
    const [first] = answers
    if (first === undefined || codeOf(error) === null || troubleOf(error) !== 'data') throw error
    if (answers.length === 1) {
      refuse(first.kept.id, reasonOf(error))
      return []
    }
    const stored: Again[] = []
    for (const one of answers) stored.push(...(await store(db, [one], refuse)))
    return stored
  }
}

function readAgain(kept: KeptBody) {
  return { kept, answer: rereadAnswer(kept) }
}

function isReadable({ answer }: Again): boolean {
  return answer.parseError === null
}

/**
 * True if the answer is now marked as a rejection or as the answer to a different query, but is not marked in the
 * database.
 */
function isNewlyMarked({ kept, answer }: Again): boolean {
  const flaw = flawOf(answer.parseError)
  return flaw !== null && flaw !== 'unreadable' && answer.parseError !== kept.parse_error
}

function restore({ kept, answer }: Again): StoredAnswer {
  return {
    callId: kept.id,
    status: kept.status,
    receivedAt: kept.received_at,
    truncated: kept.truncated,
    body: kept.body,
    search: {
      taskId: kept.task_id,
      queryId: kept.query_id,
      origin: kept.origin,
      api: kept.api,
      answer,
    },
  }
}

/** Body of an answer, with the data that is stored with it. */
interface KeptBody {
  readonly id: number
  readonly task_id: number
  readonly query_id: string
  readonly q: string
  readonly origin: Origin
  readonly api: string
  readonly parse_error: string | null
  readonly status: number
  readonly received_at: Date
  readonly truncated: boolean
  readonly body: Buffer
}

interface BodyChoice {
  /** If false, selects only answers that could not be read. */
  readonly all: boolean
  /** Null selects all runs. */
  readonly run: number | null
}

/** Reads stored bodies of answers in batches, oldest first. */
async function* readBodies(
  db: Database,
  choice: BodyChoice,
  size: number,
): AsyncGenerator<readonly KeptBody[]> {
  for (let after = 0; ;) {
    const { rows } = await sql<KeptBody>`
      select
        s.id, s.task_id, s.query_id, q.q, s.origin, s.api, s.parse_error,
        r.status, r.received_at, r.truncated, r.body
      from searches s
      join raw_answers r on r.call_id = s.id
      join queries q on q.id = s.query_id
      where s.id > ${after}
        and (${choice.all} or s.parse_error is not null)
        and (
          ${choice.run}::bigint is null
          or exists (select from tasks t where t.id = s.task_id and t.run_id = ${choice.run})
        )
      order by s.id
      limit ${size}
    `.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

/** A stored body whose rows the database rejected. `api` is null if the API is no longer known. */
type RefusedBody = Omit<KeptBody, 'api'> & { readonly api: string | null }

/** Reads, in batches and oldest first, the stored bodies whose rows the database rejected. */
async function* readRefused(
  db: Database,
  { run, buying }: { readonly run: number | null; readonly buying: Supplier },
  size: number,
): AsyncGenerator<readonly RefusedBody[]> {
  for (let after = 0; ;) {
    const { rows } = await sql<RefusedBody>`
      with refused as materialized (
        select c.*
        from calls c
        join raw_answers r on r.call_id = c.id
        where c.id > ${after}
          and c.error_code = 'UNSTORABLE'
          and not exists (select from searches s where s.call_id = c.id)
          and (
            ${run}::bigint is null
            or exists (select from tasks t where t.id = c.task_id and t.run_id = ${run})
          )
        order by c.id
        limit ${size}
      ),
      -- A worker buys from one API for as long as it lives: any other answer of it names it.
      bought as materialized (
        select w.worker, (
          select s.api from calls c join searches s on s.call_id = c.id where c.worker = w.worker limit 1
        ) as api
        from (select distinct worker from refused) w
      )
      select
        c.id, c.task_id, c.query_id, q.q, a.kind as origin, null as parse_error,
        r.status, r.received_at, r.truncated, r.body,
        coalesce(
          b.api,
          case when a.name = ${buying.account} and a.kind = ${buying.origin} then ${buying.api}::text end
        ) as api
      from refused c
      join bought b on b.worker = c.worker
      join raw_answers r on r.call_id = c.id
      join queries q on q.id = c.query_id
      join accounts a on a.id = c.account_id
      order by c.id
    `.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

/** Counts answers that can't be parsed again because their body was deleted. */
async function countBodiless(db: Database, choice: BodyChoice): Promise<number> {
  const { rows } = await sql<{ bodiless: number }>`
    select count(*) as bodiless
    from searches s
    where not exists (select from raw_answers r where r.call_id = s.id)
      and (${choice.all} or s.parse_error is not null)
      and (
        ${choice.run}::bigint is null
        or exists (select from tasks t where t.id = s.task_id and t.run_id = ${choice.run})
      )
  `.execute(db)
  return rows[0]?.bodiless ?? 0
}

/**
 * Replaces the rows of answers, or adds rows that the database had rejected. Readers see either the old or the new
 * state.
 */
async function replaceAnswers(trx: Transaction, answers: readonly StoredAnswer[]): Promise<void> {
  const ids = answers.map(({ callId }) => callId)
  if (ids.length === 0) return
  await trx
    .selectFrom('searches')
    .select('id')
    .where('id', 'in', ids)
    .orderBy('id')
    .forUpdate()
    .execute()
  for (const table of factTables) {
    await trx.deleteFrom(table).where('search_id', 'in', ids).execute()
  }
  await trx.deleteFrom('searches').where('id', 'in', ids).execute()
  await storeAnswers(trx, answers)
  await answerRefused(trx, ids)
}

/**
 * Marks tasks as answered if they had failed because the rows of their answers were missing. The calls keep the error
 * code, because the rows did not exist until now.
 */
async function answerRefused(trx: Transaction, ids: readonly number[]): Promise<void> {
  await sql`
    with stored as (
      update calls
      set error_message = 'the answer could not be written when it arrived; it was stored later'
      where id = any(${ids}::bigint[]) and error_code = 'UNSTORABLE'
      returning id, task_id
    ),
    first as (
      select task_id, min(id) as id from stored group by task_id
    )
    update tasks
    set
      state = 'answered', search_id = first.id, finished_at = clock_timestamp(),
      error_code = null, error_message = null
    from first
    where tasks.id = first.task_id
      and tasks.state = 'failed'
      and tasks.error_code = 'UNSTORABLE'`.execute(trx)
}
