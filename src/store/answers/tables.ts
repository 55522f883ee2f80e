import type { Feature, Placed, Result, StoredAnswer } from './answer.ts'
import {
  BigintColumn,
  BooleanColumn,
  BytesColumn,
  DoubleColumn,
  IntegerColumn,
  JsonbColumn,
  TextColumn,
  UuidColumn,
} from '../arrays.ts'
import type { Dictionary } from './dictionaries.ts'

export class BodiesColumns {
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

export class SearchesColumns {
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

export class ResultsColumns {
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

export class FeaturesColumns {
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
export class MentionsColumns {
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
