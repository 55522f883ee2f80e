// Stores answers as rows, and reads them back.

import type { Answer, Domain, JsonObject, Result, StoredAnswer } from '../../base/answer.ts'
import { ArrayColumn, kinds } from '../../base/database/arrays.ts'
import type { Database } from '../../base/database/database.ts'
import type { CompiledQuery, Transaction } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows, statement } from '../../base/database/sql-file.ts'

export type { StoredAnswer } from '../../base/answer.ts'

// Maximum batch size in bytes, which allows for a few large bodies. Postgres accepts messages of up to 1 GB.
const mostBytes = 64 * 1024 * 1024

/**
 * Stores bodies and answers in one statement, without committing. Existing rows are left unchanged. Call this at most
 * once per transaction, because the lock order is guaranteed only within one statement.
 */
export async function storeAnswers(
  trx: Transaction<DB>,
  answers: readonly StoredAnswer[],
): Promise<void> {
  for (const query of storing(answers)) await trx.executeQuery(query)
}

/** Yields the statements that store answers. Very large bodies need several statements. */
export function* storing(answers: readonly StoredAnswer[]): Generator<CompiledQuery> {
  for (const batch of batches(answers)) yield statement('store_answers', describeBatch(batch))
}

/** Splits answers into batches. A call that occurs twice in a batch is stored once. */
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

/** Reads answers from their rows, by search id. */
export async function readAnswers(
  db: Database,
  ids: readonly number[],
): Promise<ReadonlyMap<number, AnswerRows>> {
  const rows = await readRows<{ id: number; document: AnswerRows }>(db, 'read_answers', {
    searches: ids,
  })
  return new Map(rows.map(({ id, document }) => [id, document]))
}

/** Columns written by a batch, with their types. Values are added in the order of the columns. */
const tables = {
  domains: ['id uuid', 'host text', 'site text'],
  pages: ['id uuid', 'domain_id uuid', 'url text', 'url_key text'],
  entities: ['id uuid', 'name text', 'type text'],
  clusters: ['id uuid', 'label text'],
  related_searches: ['id uuid', 'q text'],
  raw_answers: [
    'call_id bigint',
    'status integer',
    'received_ms double',
    'truncated boolean',
    'body bytea',
  ],
  searches: [
    'id bigint',
    'task_id bigint',
    'query_id text',
    'fetched_ms double',
    'depth bigint',
    'credits_remaining bigint',
    'credits_used integer',
    'result_count integer',
    'replaced integer',
    'origin text',
    'api text',
    'intent text',
    'sentiment text',
    'parse_error text',
    'extra jsonb',
    'as_given jsonb',
  ],
  organic_results: [
    'search_id bigint',
    'ordinal integer',
    'position bigint',
    'page_id uuid',
    'domain_id uuid',
    'title text',
    'snippet text',
    'extra jsonb',
    'as_given jsonb',
  ],
  search_entities: ['search_id bigint', 'ordinal integer', 'entity_id uuid'],
  search_clusters: ['search_id bigint', 'ordinal integer', 'cluster_id uuid'],
  search_related_searches: ['search_id bigint', 'ordinal integer', 'related_search_id uuid'],
  search_features: [
    'search_id bigint',
    'ordinal integer',
    'kind text',
    'page_id uuid',
    'domain_id uuid',
    'text text',
    'extra jsonb',
  ],
} as const

/** Parameters of `store_answers.sql` for each table, with their types. */
const parametersOf = Object.entries(tables).map(([table, columns]) => {
  const parameters = columns.map((column) => {
    const [name, kind] = column.split(' ') as [string, Kind]
    return [`${table}_${name}`, kind] as const
  })
  return [table, parameters] as const
})

type TableName = keyof typeof tables

/** Returns the parameters of `store_answers.sql` for a batch: one array per column. */
function describeBatch(batch: readonly StoredAnswer[]): Readonly<Record<string, Buffer>> {
  const bytes = batch.reduce((sum, { body }) => sum + 8 + body.length, 0)
  const described = new Described(bytes)
  for (const stored of batch) described.add(stored)
  return described.toParameters()
}

class Described {
  readonly #rows: { readonly [Name in TableName]: Rows<Name> }
  /** Added rows, by id (pages and related searches) or by object (all others, because the parser reuses objects). */
  readonly #known = new Set<string | object>()

  constructor(bytes: number) {
    const rows = parametersOf.map(([table, columns]) => [table, new Rows(columns, bytes)])
    this.#rows = Object.fromEntries(rows) as { readonly [Name in TableName]: Rows<Name> }
  }

  add(stored: StoredAnswer): void {
    const { callId, status, truncated, body, search } = stored
    const received = stored.receivedAt.getTime()
    this.#rows.raw_answers.add([callId, status, received, truncated, body])
    if (search === null) return
    const { taskId, queryId, origin, api, answer } = search
    const { depth, creditsRemaining, creditsUsed, results, replaced } = answer
    const { intent, sentiment, parseError } = answer
    const call = [callId, taskId, queryId, received, depth, creditsRemaining, creditsUsed] as const
    const about = [results.length, replaced, origin, api, intent, sentiment, parseError] as const
    this.#rows.searches.add([...call, ...about, answer.extra, answer.asGiven])
    for (const { ordinal, item } of results) {
      this.#addNames(item)
      const { position, title, snippet, extra, asGiven } = item
      const page = item.page?.id ?? null
      const domain = item.domain?.id ?? null
      // Avoids spread syntax, which would take a fifth of a batch's processing time.
      const row = [callId, ordinal, position, page, domain, title, snippet, extra, asGiven] as const
      this.#rows.organic_results.add(row)
    }
    for (const { ordinal, item } of answer.features) {
      this.#addNames(item)
      const { kind, page, domain, text, extra } = item
      const place = [callId, ordinal, kind, page?.id ?? null, domain?.id ?? null] as const
      this.#rows.search_features.add([...place, text, extra])
    }
    this.#addMentions(callId, answer)
  }

  toParameters(): Readonly<Record<string, Buffer>> {
    const parameters: Record<string, Buffer> = {}
    for (const rows of Object.values(this.#rows)) rows.toParameters(parameters)
    return parameters
  }

  #addMentions(callId: number, answer: Answer): void {
    const rows = this.#rows
    for (const { ordinal, item } of answer.entities) {
      if (this.#isNew(item)) rows.entities.add([item.id, item.name, item.type])
      rows.search_entities.add([callId, ordinal, item.id])
    }
    for (const { ordinal, item } of answer.clusters) {
      if (this.#isNew(item)) rows.clusters.add([item.id, item.text])
      rows.search_clusters.add([callId, ordinal, item.id])
    }
    for (const { ordinal, item } of answer.related) {
      if (this.#isNew(item.id)) rows.related_searches.add([item.id, item.text])
      rows.search_related_searches.add([callId, ordinal, item.id])
    }
  }

  /** Adds an item's page and host as separate rows. */
  #addNames({ page, domain }: Pick<Result, 'page' | 'domain'>): void {
    this.#addDomain(domain)
    if (page === null) return
    if (page.domain !== domain) this.#addDomain(page.domain)
    if (this.#isNew(page.id)) {
      this.#rows.pages.add([page.id, page.domain?.id ?? null, page.url, page.key])
    }
  }

  #addDomain(domain: Domain | null): void {
    if (domain === null || !this.#isNew(domain)) return
    this.#rows.domains.add([domain.id, domain.host, domain.site])
  }

  /** True if the id or object has not been added yet. If two objects represent one row, the database stores it once. */
  #isNew(row: string | object): boolean {
    if (this.#known.has(row)) return false
    this.#known.add(row)
    return true
  }
}

interface Values {
  readonly uuid: string | null
  readonly text: string | null
  readonly integer: number | null
  readonly bigint: number | null
  readonly double: number | null
  readonly boolean: boolean
  readonly jsonb: unknown
  readonly bytea: Buffer
}

type Kind = keyof Values
type RowOf<Columns> = {
  readonly [Place in keyof Columns]: Columns[Place] extends `${string} ${infer K extends Kind}`
    ? Values[K]
    : never
}

/** Size of each array in the previous batch. The next batch starts with this size, so that few arrays must grow. */
const usualBytes = new Map<string, number>()
const fewBytes = 1024

class Rows<Name extends TableName> {
  readonly #names: readonly string[]
  readonly #columns: readonly ArrayColumn<unknown>[]

  constructor(columns: readonly (readonly [string, Kind])[], bytes: number) {
    this.#names = columns.map(([name]) => name)
    this.#columns = columns.map(([name, kind]) =>
      kind === 'bytea'
        ? new ArrayColumn(kinds.bytea, bytes)
        : new ArrayColumn<unknown>(kinds[kind], usualBytes.get(name) ?? fewBytes),
    )
  }

  /** Adds a row. Values are passed by position, because each answer has hundreds of values. */
  add(row: RowOf<(typeof tables)[Name]>): void {
    for (let place = 0; place < row.length; place += 1) this.#columns[place]?.add(row[place])
  }

  toParameters(parameters: Record<string, Buffer>): void {
    for (const [place, name] of this.#names.entries()) {
      const column = this.#columns[place]
      if (column === undefined) continue
      usualBytes.set(name, Math.max(fewBytes, Math.ceil(column.size * 1.2)))
      parameters[name] = column.toParameter()
    }
  }
}
