import type { Feature, Placed, Result, StoredAnswer } from './answer.ts'
import {
  BigintColumn,
  BytesColumn,
  IntegerColumn,
  JsonbColumn,
  TextColumn,
  UuidColumn,
} from '../arrays.ts'
import { Domains, Entities, Pages, Terms, type Dictionary } from './dictionaries.ts'

type Row = Readonly<Record<string, unknown>>

/** The parameters of `store_answers.sql` for a batch; what an answer has hundreds of is sent as one array per column. */
export function describeBatch(batch: readonly StoredAnswer[]): unknown[] {
  const size = batch.reduce((sum, { body }) => sum + 8 + body.length, 0)
  const described = new Described(size)
  for (const stored of batch) described.add(stored)
  return described.toParameters()
}

class Described {
  readonly #rows = { bodies: [] as Row[], searches: [] as Row[] }
  readonly #bytes: BytesColumn
  readonly #domains = new Domains()
  readonly #pages = new Pages()
  readonly #entities = new Entities()
  readonly #clusters = new Terms()
  readonly #related = new Terms()
  readonly #results = new Results()
  readonly #features = new Features()
  readonly #named = { entities: new Mentions(), clusters: new Mentions(), related: new Mentions() }

  constructor(bytes: number) {
    this.#bytes = new BytesColumn(bytes)
  }

  add({ callId, status, receivedAt, truncated, body, search }: StoredAnswer): void {
    this.#rows.bodies.push({ call_id: callId, status, received_at: receivedAt, truncated })
    this.#bytes.add(body)
    if (search === null) return
    const { taskId, queryId, origin, api, answer } = search
    this.#rows.searches.push({
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
    const columns = [
      ...[this.#domains, this.#pages, this.#entities, this.#clusters, this.#related, this.#results],
      ...[this.#named.entities, this.#named.clusters, this.#named.related, this.#features],
    ].flatMap((group) => group.columns())
    return [
      JSON.stringify(this.#rows),
      ...[this.#bytes, ...columns].map((column) => column.toParameter()),
    ]
  }
}

class Results {
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

class Features {
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
class Mentions {
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
