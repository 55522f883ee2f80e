import type { Domain, Entity, Page, Placed, Result, StoredAnswer, Term } from './answer.ts'

type Row = Readonly<Record<string, unknown>>

/** A batch as the one document that `store_answers.sql` unpacks, in the spelling of the columns. */
export function describeBatch(batch: readonly StoredAnswer[]): string {
  const document = new Document()
  for (const stored of batch) document.add(stored)
  return JSON.stringify(document)
}

class Document {
  readonly #bodies: Row[] = []
  readonly #searches: Row[] = []
  readonly #domains = new Dictionary<Domain>()
  readonly #pages = new Dictionary<Page>()
  readonly #entities = new Dictionary<Entity>()
  readonly #clusters = new Dictionary<Term>()
  readonly #related = new Dictionary<Term>()
  #start = 1

  add({ callId, status, receivedAt, truncated, body, search }: StoredAnswer): void {
    this.#bodies.push({
      call_id: callId,
      status,
      received_at: receivedAt,
      truncated,
      start: this.#start,
      size: body.length,
    })
    this.#start += body.length
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
      results: this.#addResults(answer.results),
      entities: this.#entities.addAll(answer.entities),
      clusters: this.#clusters.addAll(answer.clusters),
      related_searches: this.#related.addAll(answer.related),
    })
  }

  #addResults(results: readonly Placed<Result>[]): Row {
    for (const { item } of results) {
      this.#domains.add(item.domain)
      this.#domains.add(item.page?.domain)
      this.#pages.add(item.page)
    }
    return {
      ordinal: results.map(({ ordinal }) => ordinal),
      position: column(results, ({ item }) => item.position),
      page_id: column(results, ({ item }) => item.page?.id),
      domain_id: column(results, ({ item }) => item.domain?.id),
      title: column(results, ({ item }) => item.title),
      snippet: column(results, ({ item }) => item.snippet),
      extra: column(results, ({ item }) => item.extra),
      as_given: column(results, ({ item }) => item.asGiven),
    }
  }

  toJSON(): Row {
    const domains = this.#domains.items()
    const pages = this.#pages.items()
    const entities = this.#entities.items()
    const clusters = this.#clusters.items()
    const related = this.#related.items()
    return {
      bodies: this.#bodies,
      searches: this.#searches,
      domains: {
        id: domains.map(({ id }) => id),
        host: domains.map(({ host }) => host),
        site: column(domains, ({ site }) => site),
      },
      pages: {
        id: pages.map(({ id }) => id),
        domain_id: column(pages, ({ domain }) => domain?.id),
        url: pages.map(({ url }) => url),
        // Mostly the address itself, which need not be written twice.
        url_key: column(pages, ({ url, key }) => (key === url ? null : key)),
      },
      entities: {
        id: entities.map(({ id }) => id),
        name: entities.map(({ name }) => name),
        type: column(entities, ({ type }) => type),
      },
      clusters: { id: clusters.map(({ id }) => id), label: clusters.map(({ text }) => text) },
      related_searches: { id: related.map(({ id }) => id), q: related.map(({ text }) => text) },
    }
  }
}

/** The values of one column, row by row; left out where each of them is null. */
function column<T>(rows: readonly T[], valueOf: (row: T) => unknown): unknown[] | undefined {
  const values = rows.map((row) => valueOf(row) ?? null)
  return values.every((value) => value === null) ? undefined : values
}

/** Things that answers share, each of them once. */
class Dictionary<T extends { readonly id: string }> {
  readonly #items = new Map<string, T>()

  add(item: T | null | undefined): void {
    if (item !== null && item !== undefined) this.#items.set(item.id, item)
  }

  /** Adds a list; gives back the ids, each at its place in the list and null where nothing could be read. */
  addAll(list: readonly Placed<T>[]): (string | null)[] {
    const ids: (string | null)[] = []
    for (const { ordinal, item } of list) {
      while (ids.length < ordinal - 1) ids.push(null)
      ids.push(item.id)
      this.add(item)
    }
    return ids
  }

  items(): T[] {
    return [...this.#items.values()]
  }
}
