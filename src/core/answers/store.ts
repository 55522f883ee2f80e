// Stores answers as rows.

import type {
  Domain,
  Entity,
  Feature,
  JsonObject,
  Origin,
  Page,
  Placed,
  Result,
  StoredAnswer,
  Term,
} from '../../base/answer.ts'
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

/** The parameters of `store_answers.sql` for a batch: one array per column. */
function describeBatch(batch: readonly StoredAnswer[]): unknown[] {
  const size = batch.reduce((sum, { body }) => sum + 8 + body.length, 0)
  const described = new Described(size)
  for (const stored of batch) described.add(stored)
  return described.toParameters()
}

class Described {
  readonly #bodies: BodiesColumns
  readonly #searches = new SearchesColumns()
  readonly #domains = new Domains()
  readonly #pages = new Pages()
  readonly #entities = new Entities()
  readonly #clusters = new Terms()
  readonly #related = new Terms()
  readonly #results = new ResultsColumns()
  readonly #features = new FeaturesColumns()
  readonly #named = {
    entities: new MentionsColumns(),
    clusters: new MentionsColumns(),
    related: new MentionsColumns(),
  }

  constructor(bytes: number) {
    this.#bodies = new BodiesColumns(bytes)
  }

  add(stored: StoredAnswer): void {
    const { callId, receivedAt, search } = stored
    this.#bodies.add(stored)
    if (search === null) return
    const { answer } = search
    this.#searches.add(search, { id: callId, fetchedMs: receivedAt.getTime() })
    for (const { ordinal, item } of answer.results) {
      this.#domains.add(item.domain)
      this.#domains.add(item.page?.domain)
      this.#pages.add(item.page)
      this.#results.add(callId, ordinal, item)
    }
    for (const { ordinal, item } of answer.features) {
      this.#domains.add(item.domain)
      this.#domains.add(item.page?.domain)
      this.#pages.add(item.page)
      this.#features.add(callId, ordinal, item)
    }
    this.#named.entities.addAll(callId, answer.entities, this.#entities)
    this.#named.clusters.addAll(callId, answer.clusters, this.#clusters)
    this.#named.related.addAll(callId, answer.related, this.#related)
  }

  toParameters(): unknown[] {
    return [
      ...[this.#domains, this.#pages, this.#entities, this.#clusters, this.#related],
      ...[this.#bodies, this.#searches, this.#results],
      ...[this.#named.entities, this.#named.clusters, this.#named.related, this.#features],
    ].flatMap((group) => group.columns().map((column) => column.toParameter()))
  }
}

/** Things that several answers name, each of them kept once. */
abstract class Dictionary<T extends { readonly id: string }> {
  protected readonly ids = new UuidColumn()
  readonly #known = new Set<string>()

  add(item: T | null | undefined): void {
    if (item === null || item === undefined || this.#known.has(item.id)) return
    this.#known.add(item.id)
    this.ids.add(item.id)
    this.describe(item)
  }

  protected abstract describe(item: T): void
}

class Domains extends Dictionary<Domain> {
  readonly #hosts = new TextColumn()
  readonly #sites = new TextColumn()

  protected describe({ host, site }: Domain): void {
    this.#hosts.add(host)
    this.#sites.add(site)
  }

  columns() {
    return [this.ids, this.#hosts, this.#sites]
  }
}

class Pages extends Dictionary<Page> {
  readonly #domains = new UuidColumn()
  readonly #urls = new TextColumn()
  readonly #keys = new TextColumn()

  protected describe({ domain, url, key }: Page): void {
    this.#domains.add(domain?.id ?? null)
    this.#urls.add(url)
    this.#keys.add(key)
  }

  columns() {
    return [this.ids, this.#domains, this.#urls, this.#keys]
  }
}

class Entities extends Dictionary<Entity> {
  readonly #names = new TextColumn()
  readonly #types = new TextColumn()

  protected describe({ name, type }: Entity): void {
    this.#names.add(name)
    this.#types.add(type)
  }

  columns() {
    return [this.ids, this.#names, this.#types]
  }
}

class Terms extends Dictionary<Term> {
  readonly #texts = new TextColumn()

  protected describe({ text }: Term): void {
    this.#texts.add(text)
  }

  columns() {
    return [this.ids, this.#texts]
  }
}

class BodiesColumns {
  readonly #calls = new BigintColumn()
  readonly #statuses = new IntegerColumn()
  readonly #received = new DoubleColumn()
  readonly #truncated = new BooleanColumn()
  readonly #bytes: BytesColumn

  constructor(bytes: number) {
    this.#bytes = new BytesColumn(bytes)
  }

  add({ callId, status, receivedAt, truncated, body }: StoredAnswer): void {
    this.#calls.add(callId)
    this.#statuses.add(status)
    this.#received.add(receivedAt.getTime())
    this.#truncated.add(truncated)
    this.#bytes.add(body)
  }

  columns() {
    return [this.#calls, this.#statuses, this.#received, this.#truncated, this.#bytes]
  }
}

class SearchesColumns {
  readonly #ids = new BigintColumn()
  readonly #tasks = new BigintColumn()
  readonly #queries = new TextColumn()
  readonly #fetched = new DoubleColumn()
  readonly #depths = new BigintColumn()
  readonly #remaining = new BigintColumn()
  readonly #used = new IntegerColumn()
  readonly #counts = new IntegerColumn()
  readonly #replaced = new IntegerColumn()
  readonly #origins = new TextColumn()
  readonly #apis = new TextColumn()
  readonly #intents = new TextColumn()
  readonly #sentiments = new TextColumn()
  readonly #errors = new TextColumn()
  readonly #extras = new JsonbColumn()
  readonly #given = new JsonbColumn()

  add(
    { taskId, queryId, origin, api, answer }: NonNullable<StoredAnswer['search']>,
    { id, fetchedMs }: { readonly id: number; readonly fetchedMs: number },
  ): void {
    this.#ids.add(id)
    this.#tasks.add(taskId)
    this.#queries.add(queryId)
    this.#fetched.add(fetchedMs)
    this.#depths.add(answer.depth)
    this.#remaining.add(answer.creditsRemaining)
    this.#used.add(answer.creditsUsed)
    this.#counts.add(answer.results.length)
    this.#replaced.add(answer.replaced)
    this.#origins.add(origin)
    this.#apis.add(api)
    this.#intents.add(answer.intent)
    this.#sentiments.add(answer.sentiment)
    this.#errors.add(answer.parseError)
    this.#extras.add(answer.extra)
    this.#given.add(answer.asGiven)
  }

  columns() {
    return [
      ...[this.#ids, this.#tasks, this.#queries, this.#fetched, this.#depths, this.#remaining],
      ...[this.#used, this.#counts, this.#replaced, this.#origins, this.#apis, this.#intents],
      ...[this.#sentiments, this.#errors, this.#extras, this.#given],
    ]
  }
}

class ResultsColumns {
  readonly #searches = new BigintColumn()
  readonly #ordinals = new IntegerColumn()
  readonly #positions = new BigintColumn()
  readonly #pages = new UuidColumn()
  readonly #domains = new UuidColumn()
  readonly #titles = new TextColumn()
  readonly #snippets = new TextColumn()
  readonly #extras = new JsonbColumn()
  readonly #given = new JsonbColumn()

  add(search: number, ordinal: number, result: Result): void {
    this.#searches.add(search)
    this.#ordinals.add(ordinal)
    this.#positions.add(result.position)
    this.#pages.add(result.page?.id ?? null)
    this.#domains.add(result.domain?.id ?? null)
    this.#titles.add(result.title)
    this.#snippets.add(result.snippet)
    this.#extras.add(result.extra)
    this.#given.add(result.asGiven)
  }

  columns() {
    return [
      ...[this.#searches, this.#ordinals, this.#positions, this.#pages, this.#domains],
      ...[this.#titles, this.#snippets, this.#extras, this.#given],
    ]
  }
}

class FeaturesColumns {
  readonly #searches = new BigintColumn()
  readonly #ordinals = new IntegerColumn()
  readonly #kinds = new TextColumn()
  readonly #pages = new UuidColumn()
  readonly #domains = new UuidColumn()
  readonly #texts = new TextColumn()
  readonly #extras = new JsonbColumn()

  add(search: number, ordinal: number, feature: Feature): void {
    this.#searches.add(search)
    this.#ordinals.add(ordinal)
    this.#kinds.add(feature.kind)
    this.#pages.add(feature.page?.id ?? null)
    this.#domains.add(feature.domain?.id ?? null)
    this.#texts.add(feature.text)
    this.#extras.add(feature.extra)
  }

  columns() {
    return [
      ...[this.#searches, this.#ordinals, this.#kinds, this.#pages, this.#domains],
      ...[this.#texts, this.#extras],
    ]
  }
}

/** Which answer names which thing of a dictionary, at which place. */
class MentionsColumns {
  readonly #searches = new BigintColumn()
  readonly #ordinals = new IntegerColumn()
  readonly #ids = new UuidColumn()

  addAll<T extends { readonly id: string }>(
    search: number,
    list: readonly Placed<T>[],
    dictionary: Dictionary<T>,
  ): void {
    for (const { ordinal, item } of list) {
      this.#searches.add(search)
      this.#ordinals.add(ordinal)
      this.#ids.add(item.id)
      dictionary.add(item)
    }
  }

  columns() {
    return [this.#searches, this.#ordinals, this.#ids]
  }
}

/** The body of an answer, with what is known of the answer apart from it. */
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
  /** False: only of answers that could not be read. */
  readonly all: boolean
  /** Null: of every run. */
  readonly run: number | null
}

/** Kept bodies of answers, oldest first, a few at a time. */
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

/** What is known of where answers come from that are bought now. */
interface Buying {
  readonly account: string
  readonly origin: Origin
  readonly api: string
}

/** A kept body whose rows the tables refused; null when nobody knows any more from which API it came. */
export type RefusedBody = Omit<KeptBody, 'api'> & { readonly api: string | null }

/** Kept bodies of answers that have no rows because the tables refused them, oldest first, a few at a time. */
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

/** Answers whose body is no longer there: nothing can read them again. */
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
 * Puts new rows in the place of those that an answer has, or gives it rows that the tables refused; readers see the old
 * state or the new one.
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

/** What failed for want of these rows is answered now; its call keeps the word for it, since until now nobody had them. */
async function answerRefused(trx: Transaction<DB>, ids: readonly number[]): Promise<void> {
  await sql`
    with stored as (
      update calls
      set error_message = 'the tables refused the answer when it came; it was stored later'
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
