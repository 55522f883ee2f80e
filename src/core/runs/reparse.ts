// The reparse command: reads stored bodies again, without a call.

import { type Answer, flawOf, otherQuery, type StoredAnswer } from '../../base/answer.ts'
import { type Call, printJson, say } from '../../base/cli/command.ts'
import { count } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import { sql } from '../../base/database/kysely.ts'
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
  /** Answers whose rows were made anew. */
  readonly read: number
  /** Answers that still cannot be read, and stay as they were. */
  readonly unread: number
  /** Answers that prove to be a refusal, or to answer another query: marked, and without rows from now on. */
  readonly marked: number
  /** Answers whose rows the tables refuse; their bodies are kept. */
  readonly refused: number
  /** Answers whose body was pruned. */
  readonly bodiless: number
}

type Books = Pick<Mill, 'db' | 'supplier'>

/** An answer as it is read today. */
interface Again {
  readonly kept: KeptBody
  readonly answer: Answer
}

/** Told of each answer that cannot be stored, and why. */
type Refuse = (call: number, reason: string) => void

const batch = 64
const mostReasons = 3

/** The reparse command: reads what was asked for again, and says how much of it can be read now. */
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
  say(`${count(found.read, 'answer')} read, ${found.unread} cannot be read and stay as they were`)
  if (found.marked > 0) {
    say(
      `${count(found.marked, 'answer')} marked: the API refused the query or answered another one, so there are no rows of it`,
    )
  }
  for (const line of refusalLines(found.refused, reasons)) say(line)
  if (found.bodiless > 0) say(`of ${count(found.bodiless, 'answer')} the body was pruned`)
  return found.unread + found.marked + found.refused > 0 ? exits.failures : exits.done
}

function refusalLines(refused: number, reasons: ReadonlyMap<string, number>): string[] {
  if (refused === 0) return []
  const [first, ...others] = [...reasons].slice(0, mostReasons)
  const shown = [first, ...others].flatMap((one) =>
    one === undefined ? [] : [`  ${one[1]}: ${one[0]}`],
  )
  const more =
    reasons.size > mostReasons ? [`  and ${reasons.size - mostReasons} reasons more`] : []
  return [
    `${count(refused, 'answer')} cannot be stored, only kept; the first call of each reason:`,
    ...shown,
    ...more,
  ]
}

/**
 * Reads kept bodies again, as the program reads them today, and stores answers that the tables refused when they came.
 * Buys nothing.
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
    // An answer that cannot be parsed any more keeps the rows that were parsed earlier.
    const better = answers.filter(isReadable)
    read += (await put(better)).length
    // What was read and is not the answer to its query does: rows of another query are worse than none.
    const wrong = answers.filter(isNewlyMarked)
    marked += (await put(wrong)).length
    unread += answers.length - better.length - wrong.length
  }
  // After those that have rows, among which they are then.
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

/** Counts answers to another query against their account, as settlement does. */
async function countWrongAnswers(db: Books['db']): Promise<void> {
  await sql`
    update accounts as a
    set wrong_answers = greatest(a.wrong_answers, marked.answers)
    from (
      select c.account_id, count(*)::integer as answers
      from searches s
      join calls c on c.id = s.call_id
      where starts_with(s.parse_error, ${otherQuery})
      group by c.account_id
    ) as marked
    where a.id = marked.account_id`.execute(db)
}

const strangeApi =
  'the API that it came from is not known; type the same with SEARCH_API_URL, SEARCH_API_KEY and MILL_ACCOUNT as they were'

function fromKnownApi(kept: RefusedBody): kept is KeptBody {
  return kept.api !== null
}

/** Stores answers together, and apart where the tables refuse one; gives back those that are stored. */
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
    const middle = Math.ceil(answers.length / 2)
    const one = await store(db, answers.slice(0, middle), refuse)
    return [...one, ...(await store(db, answers.slice(middle), refuse))]
  }
}

function readAgain(kept: KeptBody): Again {
  return { kept, answer: rereadAnswer(kept) }
}

function isReadable({ answer }: Again): boolean {
  return answer.parseError === null
}

/** Marked by today's reading as a refusal or as the answer to another query, and not marked so in the tables. */
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
