import { parseAnswer, readBody, unreadAnswer } from '../search/parse.ts'
import type { Answer, StoredAnswer } from '../store/answers/answer.ts'
import {
  countBodiless,
  readBodies,
  replaceAnswers,
  type BodyChoice,
  type KeptBody,
} from '../store/answers/bodies.ts'
import type { Database } from '../store/database.ts'

export interface Reparsed {
  /** Answers whose rows were made anew. */
  readonly read: number
  /** Answers that still cannot be read, and stay as they were. */
  readonly unread: number
  /** Answers whose body was pruned. */
  readonly bodiless: number
}

const batch = 64

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
  const found = readBody(body, truncated)
  return found.problem === null ? parseAnswer(found, q) : unreadAnswer(found.problem)
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
