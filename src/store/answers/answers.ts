import type { CompiledQuery, Transaction } from '../kysely.ts'
import type { JsonObject, StoredAnswer } from './answer.ts'
import { describeBatch } from './columns.ts'
import type { Database } from '../database.ts'
import type { DB } from '../schema.ts'
import { statement } from '../statement.ts'

export type { StoredAnswer } from './answer.ts'

// Postgres takes one message of up to a gigabyte; a few bodies at the cap make a batch of their own long before.
const mostBytes = 64 * 1024 * 1024

/**
 * Stores bodies and answers in one statement; does not commit. What is there already is left alone.
 * At most once per transaction: the order of locks holds within one statement.
 */
export async function storeAnswers(
  trx: Transaction<DB>,
  answers: readonly StoredAnswer[],
): Promise<void> {
  for (const query of storing(answers)) await trx.executeQuery(query)
}

/** The statements that store answers: one, unless the bodies are very large. */
export function* storing(answers: readonly StoredAnswer[]): Generator<CompiledQuery> {
  for (const batch of batches(answers)) yield statement('store_answers', describeBatch(batch))
}

/** The same call twice in one batch is stored once, as it would be in two. */
function* batches(answers: readonly StoredAnswer[]): Generator<StoredAnswer[]> {
  let batch: StoredAnswer[] = []
  let bytes = 0
  for (const answer of new Map(answers.map((each) => [each.callId, each])).values()) {
    if (batch.length > 0 && bytes + answer.body.length > mostBytes) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(answer)
    bytes += answer.body.length
  }
  if (batch.length > 0) yield batch
}

/** An answer as its rows hold it, in the spelling of the columns. */
export interface AnswerRows {
  readonly q: string
  readonly parse_error: string | null
  readonly intent: string | null
  readonly sentiment: string | null
  readonly credits_used: number | null
  readonly credits_remaining: number | null
  readonly extra: JsonObject | null
  readonly as_given: JsonObject | null
  readonly organic_results: readonly {
    readonly position: number | null
    readonly title: string | null
    readonly url: string | null
    readonly snippet: string | null
    readonly domain: string | null
    readonly extra: JsonObject | null
    readonly as_given: JsonObject | null
  }[]
  readonly entities: readonly { readonly name: string; readonly type: string | null }[]
  readonly clusters: readonly string[]
  readonly related_searches: readonly string[]
}

/** Reads answers back from their rows, by the number of the search. */
export async function readAnswers(
  db: Database,
  ids: readonly number[],
): Promise<ReadonlyMap<number, AnswerRows>> {
  const { rows } = await db.executeQuery(
    statement<{ id: number; document: AnswerRows }>('read_answers', [ids]),
  )
  return new Map(rows.map(({ id, document }) => [id, document]))
}
