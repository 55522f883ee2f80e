// The reparse command: parses stored bodies again, without making calls.

import { flawOf, type Origin, otherQuery, type StoredAnswer } from '../../base/answer.ts'
import { type Call, printJson, say } from '../../base/cli/command.ts'
import { count } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database, Transaction } from '../../base/database/database.ts'
import { factTables } from '../../base/database/facts.ts'
import { countOf, type NotNull, sql } from '../../base/database/kysely.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { codeOf, type Exit, exits, reasonOf } from '../../base/errors.ts'
import { storeAnswers } from '../answers/store.ts'
import { insisting } from '../ledger/change-tasks.ts'
import { type Mill, openMill } from '../mill.ts'
import { rereadAnswer } from '../search/verdict.ts'
import { expectRun } from './run.ts'

type Books = Pick<Mill, 'db' | 'supplier'>

type Again = ReturnType<typeof readAgain>

/** Called with each answer that cannot be stored, and the reason. */
type Refuse = (call: number, reason: string) => void

const batch = 64
const mostReasons = 3

export async function runReparse({
  options,
  env,
  closers,
}: Call<{ readonly all?: true; readonly run?: number }>): Promise<Exit> {
  const run = options.run ?? null
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'reparse', connections: 2 })
  if (run !== null) await expectRun(mill.db, run)
  const reasons = new Map<string, number>()
  const found = await reparse(mill, { all: options.all === true, run }, (call, reason) => {
    if (!reasons.has(reason)) reasons.set(reason, call)
  })
  if (options.json === true) printJson(found)
  say(`${count(found.read, 'answer')} read, ${found.unread} still unreadable and unchanged`)
  if (found.marked > 0) {
    say(
      `${count(found.marked, 'answer')} marked as unreadable, because the API refused the query or answered a different one`,
    )
  }
  if (found.refused > 0) {
    say(`${count(found.refused, 'answer')} cannot be stored yet; the first call for each reason:`)
    for (const [reason, call] of [...reasons].slice(0, mostReasons)) say(`  ${call}: ${reason}`)
    if (reasons.size > mostReasons) say(`  and ${count(reasons.size - mostReasons, 'more reason')}`)
  }
  if (found.bodiless > 0)
    say(`${count(found.bodiless, 'answer')} skipped, because the body was pruned`)
  return found.unread + found.marked + found.refused > 0 ? exits.failures : exits.done
}

/** Parses stored bodies again, and stores answers that the database had rejected. Buys nothing. */
export async function reparse(
  { db, supplier }: Books,
  choice: BodyChoice,
  refuse: Refuse = () => undefined,
) {
  const found = {
    /** Answers whose rows were replaced. */
    read: 0,
    /** Answers that remain unreadable and unchanged. */
    unread: 0,
    /** Answers that turn out to be rejections or to belong to another query. Their rows are deleted. */
    marked: 0,
    /** Answers whose rows the database rejects. The bodies of these answers are kept. */
    refused: 0,
    bodiless: await countOf(
      db,
      chosenAnswers(db, choice).where('r.call_id', 'is', null).select('s.id'),
    ),
  }
  const put = async (answers: readonly Again[]) => {
    const stored = await store(db, answers, refuse)
    found.refused += answers.length - stored.length
    return stored
  }
  for await (const bodies of inBatches((after) => readBodies(db, choice, after))) {
    const answers = bodies.map(readAgain)
    // An answer that can no longer be parsed keeps the rows from its earlier parse.
    const better = answers.filter(isReadable)
    found.read += (await put(better)).length
    // Deletes the rows of wrong answers, because another query's rows are worse than no rows.
    const wrong = answers.filter(isNewlyMarked)
    found.marked += (await put(wrong)).length
    found.unread += answers.length - better.length - wrong.length
  }
  // Answers that the database rejected are stored last; otherwise, the loop above would read them a second time.
  for await (const bodies of inBatches((after) =>
    readRefused({ db, supplier }, choice.run, after),
  )) {
    const known = bodies.flatMap(({ api, ...kept }) => (api === null ? [] : [{ ...kept, api }]))
    for (const { id, api } of bodies) if (api === null) refuse(id, strangeApi)
    found.refused += bodies.length - known.length
    const stored = await put(known.map(readAgain))
    const better = stored.filter(isReadable).length
    found.read += better
    found.unread += stored.length - better
  }
  if (found.marked > 0) await countWrongAnswers(db)
  return found
}

/** Yields batches in order of id. `read` receives the last id of the previous batch. */
async function* inBatches<Row extends { readonly id: number }>(
  read: (after: number) => Promise<readonly Row[]>,
) {
  for (let after: number | undefined = 0; after !== undefined;) {
    const rows: readonly Row[] = await read(after)
    if (rows.length > 0) yield rows
    after = rows.at(-1)?.id
  }
}

/** For each account, counts answers to other queries, as settlement does. */
async function countWrongAnswers(db: Database): Promise<void> {
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
  'the API that sent this answer is unknown; run the same command with the values of SEARCH_API_URL, SEARCH_API_KEY and MILL_ACCOUNT that were set when the answer was bought'

/** Stores answers in a batch, or one by one if the database rejects the batch. Returns the stored answers. */
async function store(
  db: Database,
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

type KeptBody = Awaited<ReturnType<typeof readBodies>>[number]

function readAgain(kept: KeptBody) {
  return { kept, answer: rereadAnswer(kept) }
}

function isReadable({ answer }: Again): boolean {
  return answer.parseError === null
}

/** True if reparsing finds an unmarked rejection or an unmarked answer to another query. */
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

interface BodyChoice {
  /** If false, selects only answers that could not be read. */
  readonly all: boolean
  readonly run: number | null
}

function chosenAnswers(db: Database, { all, run }: BodyChoice) {
  let chosen = db.selectFrom('searches as s').leftJoin('raw_answers as r', 'r.call_id', 's.id')
  if (!all) chosen = chosen.where('s.parse_error', 'is not', null)
  if (run === null) return chosen
  return chosen.where('s.task_id', 'in', (eb) =>
    eb.selectFrom('tasks').select('tasks.id').where('tasks.run_id', '=', run),
  )
}

function readBodies(db: Database, choice: BodyChoice, after: number) {
  return chosenAnswers(db, choice)
    .innerJoin('queries as q', 'q.id', 's.query_id')
    .select((eb) => [
      ...(['s.id', 's.task_id', 's.query_id', 'q.q', 's.api', 's.parse_error'] as const),
      ...(['r.status', 'r.received_at', 'r.truncated', 'r.body'] as const),
      eb.ref('s.origin').$castTo<Origin>().as('origin'),
    ])
    .where('r.call_id', 'is not', null)
    .$narrowType<{ status: NotNull; received_at: NotNull; truncated: NotNull; body: NotNull }>()
    .where('s.id', '>', after)
    .orderBy('s.id')
    .limit(batch)
    .execute()
}

/** Reads a batch of bodies whose rows the database rejected. `api` is null if the API is no longer known. */
async function readRefused({ db, supplier }: Books, run: number | null, after: number) {
  const { rows } = await sql<Omit<KeptBody, 'api'> & { readonly api: string | null }>`
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
      limit ${batch}
    ),
    -- A worker buys from one API as long as it lives, so any other answer that it bought names the API.
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
        case when a.name = ${supplier.account} and a.kind = ${supplier.origin} then ${supplier.api}::text end
      ) as api
    from refused c
    join bought b on b.worker = c.worker
    join raw_answers r on r.call_id = c.id
    join queries q on q.id = c.query_id
    join accounts a on a.id = c.account_id
    order by c.id
  `.execute(db)
  return rows
}

/** Replaces the rows of answers, or adds rows that the database had rejected. */
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

/** Marks tasks as answered if they had failed because their answers had no rows. The calls keep the error code. */
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
