// The reparse command: parses stored bodies again, without making calls.

import { type Answer, flawOf, otherQuery, type StoredAnswer } from '../../base/answer.ts'
import { type Call, printJson, say } from '../../base/cli/command.ts'
import { count } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { codeOf, type Exit, exits, reasonOf } from '../../base/errors.ts'
import {
  type BodyChoice,
  countBodiless,
  type KeptBody,
  readBodies,
  readRefused,
  type RefusedBody,
  replaceAnswers,
} from '../answers/store.ts'
import { insisting } from '../ledger/change-tasks.ts'
import { type Mill, openMill } from '../mill.ts'
import { rereadAnswer } from '../search/verdict.ts'
import { expectRun } from './run.ts'

export interface ReparseOptions {
  readonly all?: true
  readonly run?: number
  readonly json?: true
}

interface Reparsed {
  /** Answers whose rows were replaced. */
  readonly read: number
  /** Answers that still can't be read and remain unchanged. */
  readonly unread: number
  /** Answers that turned out to be a rejection or to answer a different query; they are marked and lose their rows. */
  readonly marked: number
  /** Answers whose rows the database rejects; their bodies are kept. */
  readonly refused: number
  /** Answers whose body was pruned. */
  readonly bodiless: number
}

type Books = Pick<Mill, 'db' | 'supplier'>

/** An answer with the result of parsing it again. */
interface Again {
  readonly kept: KeptBody
  readonly answer: Answer
}

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
): Promise<Reparsed> {
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
    // An answer that turns out to be wrong loses its rows: rows of a different query are worse than none.
    const wrong = answers.filter(isNewlyMarked)
    marked += (await put(wrong)).length
    unread += answers.length - better.length - wrong.length
  }
  // Rejected answers come last: once they have rows, the loop above would read them as well.
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
  return { read, unread, marked, refused, bodiless }
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

/** Stores answers in a batch, or one by one if the database rejects the batch; returns the stored answers. */
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

function readAgain(kept: KeptBody): Again {
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
