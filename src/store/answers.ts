import type { Transaction } from 'kysely'
import type { Answer, Domain, JsonObject, Placed, Result, StoredAnswer } from './answer.ts'
import type { Database } from './database.ts'
import type { DB } from './schema.ts'
import { statement } from './statement.ts'

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
  for (const batch of batches(answers)) {
    const bodies = Buffer.concat(batch.map(({ body }) => body))
    await trx.executeQuery(statement('store_answers', [describe(batch), bodies]))
  }
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

type Row = Readonly<Record<string, unknown>>

/** The batch as one document: for each table a list of its rows, in the spelling of its columns. */
function describe(batch: readonly StoredAnswer[]): string {
  const document = new Document()
  let start = 1
  for (const stored of batch) {
    document.bodies.push({
      call_id: stored.callId,
      status: stored.status,
      received_at: stored.receivedAt,
      truncated: stored.truncated,
      start,
      size: stored.body.length,
    })
    start += stored.body.length
    document.addSearch(stored)
  }
  return document.write()
}

class Document {
  readonly bodies: Row[] = []
  readonly #searches: Row[] = []
  readonly #results: Row[] = []
  readonly #entitiesOf: Row[] = []
  readonly #clustersOf: Row[] = []
  readonly #relatedOf: Row[] = []
  readonly #domains = new Map<string, Row>()
  readonly #pages = new Map<string, Row>()
  readonly #entities = new Map<string, Row>()
  readonly #clusters = new Map<string, Row>()
  readonly #related = new Map<string, Row>()

  addSearch({ callId, receivedAt, search }: StoredAnswer): void {
    if (search === null) return
    const { taskId, queryId, origin, api, answer } = search
    this.#searches.push({
      id: callId,
      task_id: taskId,
      query_id: queryId,
      fetched_at: receivedAt,
      depth: answer.depth,
      credits_remaining: answer.creditsRemaining,
      credits_used: answer.creditsUsed,
      result_count: answer.results.length,
      replaced: answer.replaced,
      origin,
      api,
      intent: answer.intent,
      sentiment: answer.sentiment,
      parse_error: answer.parseError,
      extra: answer.extra,
      as_given: answer.asGiven,
    })
    this.#addLists(callId, answer)
  }

  #addLists(search_id: number, answer: Answer): void {
    for (const placed of answer.results) this.#addResult(search_id, placed)
    for (const { ordinal, item } of answer.entities) {
      this.#entities.set(item.id, { ...item })
      this.#entitiesOf.push({ search_id, ordinal, id: item.id })
    }
    for (const { ordinal, item } of answer.clusters) {
      this.#clusters.set(item.id, { id: item.id, label: item.text })
      this.#clustersOf.push({ search_id, ordinal, id: item.id })
    }
    for (const { ordinal, item } of answer.related) {
      this.#related.set(item.id, { id: item.id, q: item.text })
      this.#relatedOf.push({ search_id, ordinal, id: item.id })
    }
  }

  #addResult(search_id: number, { ordinal, item }: Placed<Result>): void {
    const { page, domain, position, title, snippet, extra, asGiven } = item
    this.#results.push({
      search_id,
      ordinal,
      position,
      page_id: page?.id,
      domain_id: domain?.id,
      title,
      snippet,
      // Nearly always null: left out, they need not be written and read.
      extra: extra ?? undefined,
      as_given: asGiven ?? undefined,
    })
    this.#addDomain(domain)
    if (page === null) return
    this.#addDomain(page.domain)
    this.#pages.set(page.id, {
      id: page.id,
      domain_id: page.domain?.id,
      url: page.url,
      url_key: page.key,
    })
  }

  #addDomain(domain: Domain | null): void {
    if (domain !== null) this.#domains.set(domain.id, { ...domain })
  }

  write(): string {
    return JSON.stringify({
      bodies: this.bodies,
      searches: this.#searches,
      organic_results: this.#results,
      search_entities: this.#entitiesOf,
      search_clusters: this.#clustersOf,
      search_related_searches: this.#relatedOf,
      domains: [...this.#domains.values()],
      pages: [...this.#pages.values()],
      entities: [...this.#entities.values()],
      clusters: [...this.#clusters.values()],
      related_searches: [...this.#related.values()],
    })
  }
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
