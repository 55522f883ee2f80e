import type { StoredAnswer } from './answer.ts'
import { Domains, Entities, Pages, Terms } from './dictionaries.ts'
import {
  BodiesColumns,
  FeaturesColumns,
  MentionsColumns,
  ResultsColumns,
  SearchesColumns,
} from './tables.ts'

/** The parameters of `store_answers.sql` for a batch: one array per column. */
export function describeBatch(batch: readonly StoredAnswer[]): unknown[] {
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
