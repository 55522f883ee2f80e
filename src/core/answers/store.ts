// Stores answers as rows.

import type { Answer, Domain, JsonObject, Origin, Result, StoredAnswer } from '../../base/answer.ts'
import {
  BigintColumn,
  BooleanColumn,
  BytesColumn,
  DoubleColumn,
  IntegerColumn,
  JsonbColumn,
  TextColumn,
  UuidColumn,
} from '../../base/database/arrays.ts'
import type { Database } from '../../base/database/database.ts'
import { type CompiledQuery, sql, type Transaction } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { statement } from '../../base/database/sql-file.ts'

export type { StoredAnswer } from '../../base/answer.ts'

// Batch size limit in bytes. Postgres accepts messages of up to one gigabyte; a few bodies of maximum size reach this
// limit first.
const mostBytes = 64 * 1024 * 1024

/**
 * Stores bodies and answers in one statement, without committing. Existing rows are left unchanged. Call at most once
 * per transaction, because the lock order is only guaranteed within one statement.
 */
export async function storeAnswers(
  trx: Transaction<DB>,
  answers: readonly StoredAnswer[],
): Promise<void> {
  for (const query of storing(answers)) await trx.executeQuery(query)
}

/** Yields the statements that store answers: one, or several if the bodies are very large. */
export function* storing(answers: readonly StoredAnswer[]): Generator<CompiledQuery> {
  for (const batch of batches(answers)) yield statement('store_answers', describeBatch(batch))
}

/** A call that occurs twice in a batch is stored once, just as if it occurred in two batches. */
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

/** Rows of an answer, as values by column name. */
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
  const { rows } = await db.executeQuery(
    statement<{ id: number; document: AnswerRows }>('read_answers', { searches: ids }),
  )
  return new Map(rows.map(({ id, document }) => [id, document]))
}

/** Columns filled by a batch, with their types. The values of each row are added in the order of the columns. */
const tables = {
  domains: [
    ['id', 'uuid'],
    ['host', 'text'],
    ['site', 'text'],
  ],
  pages: [
    ['id', 'uuid'],
    ['domain_id', 'uuid'],
    ['url', 'text'],
    ['url_key', 'text'],
  ],
  entities: [
    ['id', 'uuid'],
    ['name', 'text'],
    ['type', 'text'],
  ],
  clusters: [
    ['id', 'uuid'],
    ['label', 'text'],
  ],
  related_searches: [
    ['id', 'uuid'],
    ['q', 'text'],
  ],
  raw_answers: [
    ['call_id', 'bigint'],
    ['status', 'integer'],
    ['received_ms', 'double'],
    ['truncated', 'boolean'],
    ['body', 'bytea'],
  ],
  searches: [
    ['id', 'bigint'],
    ['task_id', 'bigint'],
    ['query_id', 'text'],
    ['fetched_ms', 'double'],
    ['depth', 'bigint'],
    ['credits_remaining', 'bigint'],
    ['credits_used', 'integer'],
    ['result_count', 'integer'],
    ['replaced', 'integer'],
    ['origin', 'text'],
    ['api', 'text'],
    ['intent', 'text'],
    ['sentiment', 'text'],
    ['parse_error', 'text'],
    ['extra', 'jsonb'],
    ['as_given', 'jsonb'],
  ],
  organic_results: [
    ['search_id', 'bigint'],
    ['ordinal', 'integer'],
    ['position', 'bigint'],
    ['page_id', 'uuid'],
    ['domain_id', 'uuid'],
    ['title', 'text'],
    ['snippet', 'text'],
    ['extra', 'jsonb'],
    ['as_given', 'jsonb'],
  ],
  search_entities: [
    ['search_id', 'bigint'],
    ['ordinal', 'integer'],
    ['entity_id', 'uuid'],
  ],
  search_clusters: [
    ['search_id', 'bigint'],
    ['ordinal', 'integer'],
    ['cluster_id', 'uuid'],
  ],
  search_related_searches: [
    ['search_id', 'bigint'],
    ['ordinal', 'integer'],
    ['related_search_id', 'uuid'],
  ],
  search_features: [
    ['search_id', 'bigint'],
    ['ordinal', 'integer'],
    ['kind', 'text'],
    ['page_id', 'uuid'],
    ['domain_id', 'uuid'],
    ['text', 'text'],
    ['extra', 'jsonb'],
  ],
} as const

type TableName = keyof typeof tables

/** Parameters of `store_answers.sql` for a batch: one array per column. */
function describeBatch(batch: readonly StoredAnswer[]): Readonly<Record<string, Buffer>> {
  const bytes = batch.reduce((sum, { body }) => sum + 8 + body.length, 0)
  const described = new Described(bytes)
  for (const stored of batch) described.add(stored)
  return described.toParameters()
}

class Described {
  readonly #rows: { readonly [Name in TableName]: Rows<Name> }
  /** Ids that were already added, so that a row shared by several answers is stored once. */
  readonly #known = new Set<string>()

  constructor(bytes: number) {
    const rows = Object.entries(tables).map(([name, columns]) => [name, new Rows(columns, bytes)])
    this.#rows = Object.fromEntries(rows) as { readonly [Name in TableName]: Rows<Name> }
  }

  add(stored: StoredAnswer): void {
    const { callId, status, truncated, body, search } = stored
    const received = stored.receivedAt.getTime()
    this.#rows.raw_answers.add([callId, status, received, truncated, body])
    if (search === null) return
    const { answer } = search
    this.#addSearch(search, callId, received)
    for (const { ordinal, item } of answer.results) {
      this.#addNames(item)
      const { position, title, snippet, extra, asGiven } = item
      const page = item.page?.id ?? null
      const domain = item.domain?.id ?? null
      // One literal, because a spread in this loop would take a fifth of the time of a batch.
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
    for (const [table, rows] of Object.entries(this.#rows)) rows.toParameters(table, parameters)
    return parameters
  }

  #addSearch(
    { taskId, queryId, origin, api, answer }: NonNullable<StoredAnswer['search']>,
    callId: number,
    received: number,
  ): void {
    const { depth, creditsRemaining, creditsUsed, results, replaced } = answer
    const { intent, sentiment, parseError, extra, asGiven } = answer
    const call = [callId, taskId, queryId, received, depth, creditsRemaining, creditsUsed] as const
    const found = [results.length, replaced, origin, api, intent, sentiment, parseError] as const
    this.#rows.searches.add([...call, ...found, extra, asGiven])
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
      if (this.#isNew(item)) rows.related_searches.add([item.id, item.text])
      rows.search_related_searches.add([callId, ordinal, item.id])
    }
  }

  /** Adds the page and host of an item as separate rows. */
  #addNames({ page, domain }: Pick<Result, 'page' | 'domain'>): void {
    this.#addDomain(domain)
    if (page === null) return
    this.#addDomain(page.domain)
    if (this.#isNew(page)) {
      this.#rows.pages.add([page.id, page.domain?.id ?? null, page.url, page.key])
    }
  }

  #addDomain(domain: Domain | null): void {
    if (domain === null || !this.#isNew(domain)) return
    this.#rows.domains.add([domain.id, domain.host, domain.site])
  }

  /** Ids are hashes of kind and content, so ids of different tables never collide. */
  #isNew({ id }: { readonly id: string }): boolean {
    if (this.#known.has(id)) return false
    this.#known.add(id)
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
  readonly [Place in keyof Columns]: Columns[Place] extends readonly [string, infer K extends Kind]
    ? Values[K]
    : never
}

/** A column of any type. */
interface AnyColumn {
  add(value: unknown): void
  toParameter(): Buffer
}

const columnOf: { readonly [Name in Kind]: (bytes: number) => AnyColumn } = {
  uuid: () => new UuidColumn(),
  text: () => new TextColumn(),
  integer: () => new IntegerColumn(),
  bigint: () => new BigintColumn(),
  double: () => new DoubleColumn(),
  boolean: () => new BooleanColumn(),
  jsonb: () => new JsonbColumn(),
  bytea: (bytes) => new BytesColumn(bytes),
}

/** Rows of one table, column by column. */
class Rows<Name extends TableName> {
  readonly #names: readonly string[]
  readonly #columns: readonly AnyColumn[]

  constructor(columns: readonly (readonly [string, Kind])[], bytes: number) {
    this.#names = columns.map(([name]) => name)
    this.#columns = columns.map(([, kind]) => columnOf[kind](bytes))
  }

  /** Adds a row. Each answer has hundreds of values, so they are passed by position, without a lookup by name. */
  add(row: RowOf<(typeof tables)[Name]>): void {
    for (let place = 0; place < row.length; place += 1) this.#columns[place]?.add(row[place])
  }

  toParameters(table: string, parameters: Record<string, Buffer>): void {
    for (const [place, column] of this.#columns.entries()) {
      parameters[`${table}_${this.#names[place]}`] = column.toParameter()
    }
  }
}

/** Body of an answer, with the data that is stored with it. */
export interface KeptBody {
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

export interface BodyChoice {
  /** If false, selects only answers that could not be read. */
  readonly all: boolean
  /** Null selects all runs. */
  readonly run: number | null
}

/** Reads stored bodies of answers in batches, oldest first. */
export async function* readBodies(
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

/** Account, origin and API of the answers that are being bought. */
interface Buying {
  readonly account: string
  readonly origin: Origin
  readonly api: string
}

/** A stored body whose rows the database rejected; `api` is null if it is no longer known. */
export type RefusedBody = Omit<KeptBody, 'api'> & { readonly api: string | null }

/** Reads, in batches and oldest first, the stored bodies whose rows the database rejected. */
export async function* readRefused(
  db: Database,
  { run, buying }: { readonly run: number | null; readonly buying: Buying },
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
export async function countBodiless(db: Database, choice: BodyChoice): Promise<number> {
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
export async function replaceAnswers(
  trx: Transaction<DB>,
  answers: readonly StoredAnswer[],
): Promise<void> {
  const ids = answers.map(({ callId }) => callId)
  if (ids.length === 0) return
  await trx
    .selectFrom('searches')
    .select('id')
    .where('id', 'in', ids)
    .orderBy('id')
    .forUpdate()
    .execute()
  for (const table of [
    'organic_results',
    'search_entities',
    'search_clusters',
    'search_related_searches',
    'search_features',
  ] as const) {
    await trx.deleteFrom(table).where('search_id', 'in', ids).execute()
  }
  await trx.deleteFrom('searches').where('id', 'in', ids).execute()
  await storeAnswers(trx, answers)
  await answerRefused(trx, ids)
}

/**
 * Marks tasks as answered if they had failed because these rows were missing. Their calls keep the error code, because
 * the rows did not exist until now.
 */
async function answerRefused(trx: Transaction<DB>, ids: readonly number[]): Promise<void> {
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
