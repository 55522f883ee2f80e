import { readAnswer } from '../search/parse.ts'
import type { Answer, StoredAnswer } from '../store/answers/answer.ts'
import {
  countBodiless,
  readBodies,
  replaceAnswers,
  type BodyChoice,
  type KeptBody,
} from '../store/answers/bodies.ts'
import type { Database } from '../store/database.ts'
import { expectRun } from '../store/operator/known.ts'
import { readConfig } from '../shared/config.ts'
import { exits, type Exit } from '../shared/errors.ts'
import { printJson, say, type Call } from '../shared/terminal/command.ts'
import { count } from '../shared/terminal/wording.ts'
import { openMill } from './mill/mill.ts'

export interface ReparseOptions {
  readonly all?: true
  readonly run?: number
  readonly json?: true
}

export interface Reparsed {
  /** Answers whose rows were made anew. */
  readonly read: number
  /** Answers that still cannot be read, and stay as they were. */
  readonly unread: number
  /** Answers whose body was pruned. */
  readonly bodiless: number
}

const batch = 64

/** The reparse command: reads what was asked for again, and says how much of it can be read now. */
export async function runReparse({ options, env, closers }: Call<ReparseOptions>): Promise<Exit> {
  const run = options.run ?? null
  const config = readConfig(env)
  const { db } = await openMill({ config, closers, say, name: 'reparse', connections: 2 })
  if (run !== null) await expectRun(db, run)
  const found = await reparse(db, { all: options.all === true, run })
  if (options.json === true) printJson(found)
  say(`${count(found.read, 'answer')} read, ${found.unread} cannot be read and stay as they were`)
  if (found.bodiless > 0) say(`of ${count(found.bodiless, 'answer')} the body was pruned`)
  return found.unread > 0 ? exits.failures : exits.done
}

/** Reads kept bodies again, as the program reads them today. Buys nothing. */
export async function reparse(db: Database, choice: BodyChoice): Promise<Reparsed> {
  const bodiless = await countBodiless(db, choice)
  let read = 0
  let unread = 0
  for await (const bodies of readBodies(db, choice, batch)) {
    const answers = bodies.map((body) => ({ body, answer: readAgain(body) }))
    // What cannot be read never takes the place of rows that were read once.
    const better = answers.filter(({ answer }) => answer.parseError === null)
    await db.transaction().execute((trx) =>
      replaceAnswers(
        trx,
        better.map(({ body, answer }) => restore(body, answer)),
      ),
    )
    read += better.length
    unread += answers.length - better.length
  }
  return { read, unread, bodiless }
}

function readAgain({ body, truncated, q }: KeptBody): Answer {
  return readAnswer(body, truncated, q).answer
}

function restore(kept: KeptBody, answer: Answer): StoredAnswer {
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
