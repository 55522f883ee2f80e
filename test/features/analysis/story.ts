// A history in a few lines:
// const story = new Story(pool); await story.night('2026-01-01', { shoes: ['a.com/1', 'b.com/2'] })
// Addresses are in the order of their positions; null is a gap. Everything else has default values.
import type { Pool } from 'pg'
import { ensureReader } from '../../../src/base/database/reader-role.ts'
import { contentId, pageIdBytes, type Device, queryId, queryKey } from '../../../src/base/query.ts'
import { readAddress } from '../../../src/core/search/parse.ts'

/** One answer. */
export interface Serp {
  readonly results?: readonly (string | null)[]
  readonly titles?: readonly string[]
  readonly depth?: number
  readonly entities?: readonly string[]
  readonly clusters?: readonly string[]
  readonly related?: readonly string[]
  readonly intent?: string
  readonly sentiment?: string
  readonly unreadable?: true
  /** The result's own field, if it differs from the host of the address. */
  readonly domain?: string | null
  readonly credits?: number
}

/** Values of a query in a list. */
export interface Said {
  readonly weight?: number
  readonly tags?: readonly string[]
  readonly target?: string
  readonly hl?: string
  readonly gl?: string
  readonly num?: number
  readonly device?: Device
}

export type Answers = Readonly<
  Record<
    string,
    readonly (string | null)[] | Serp | 'failed' | 'unknown' | 'cancelled' | 'reused' | 'not_asked'
  >
>

interface Night {
  readonly list?: string
  readonly kind?: 'manual' | 'nightly'
  readonly origin?: 'live' | 'test' | 'sandbox'
  readonly api?: string
  readonly at?: string
}

/** Returns the id of a page as the database prints it. */
export function pageId(url: string): string {
  const hex = Buffer.from(pageIdBytes(url, readAddress(url).key), 'latin1').toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Writes runs, answers and list values directly to the tables. */
export class Story {
  readonly #pool: Pool
  readonly #said = new Map<string, Said>()
  #clock = Date.parse('2026-01-01T00:00:00Z')

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Values of the list from its next run on. */
  says(q: string, said: Said): this {
    this.#said.set(q, said)
    return this
  }

  idOf(q: string): string {
    const { hl = null, gl = null, num = 10, device = null } = this.#said.get(q) ?? {}
    const text = q.split(' @')[0] ?? q
    return queryId(queryKey({ q: text, location: null, hl, gl, num, device }))
  }

  /** One run of a list with its answers; returns the ids of the searches by query. */
  async night(date: string, answers: Answers, night: Night = {}): Promise<Map<string, number>> {
    const { list = 'main', kind = 'nightly', at = `${date}T01:00:00Z` } = night
    const listId = await this.#list(list)
    const made = await this.#one<{ id: number }>(
      `insert into runs (list_id, run_date, kind, state, created_at)
      values ($1, $2, $3, 'done', clock_timestamp())
      returning id`,
      [listId, date, kind],
    )
    this.#clock = Math.max(this.#clock + 1000, Date.parse(at))
    const searches = new Map<string, number>()
    for (const [q, answer] of Object.entries(answers)) {
      const search = await this.#task({ q, answer, run: made.id, night })
      if (search !== null) searches.set(q, search)
    }
    return searches
  }

  /** Another answer to the task of a search: a late one, or one that was bought again. */
  async late(search: number, serp: Serp): Promise<number> {
    const { task_id, query_id } = await this.#one<{ task_id: number; query_id: string }>(
      'select task_id, query_id from searches where id = $1',
      [search],
    )
    this.#clock += 1000
    return this.#search({ task: task_id, query: query_id, serp, night: {} })
  }

  async #list(name: string): Promise<number> {
    await this.#pool.query(
      "insert into lists (name, source) values ($1, '') on conflict do nothing",
      [name],
    )
    return (await this.#one<{ id: number }>('select id from lists where name = $1', [name])).id
  }

  async #task(order: {
    q: string
    answer: Answers[string]
    run: number
    night: Night
  }): Promise<number | null> {
    const { q, answer, run, night } = order
    const query = await this.#query(q, run)
    const state = typeof answer === 'string' ? answer : 'answered'
    const older = await this.#newest(query)
    const served = state === 'reused' || state === 'not_asked' ? older : null
    const { id } = await this.#one<{ id: number }>(
      `insert into tasks (run_id, query_id, slice, state, search_id)
      values ($1, $2, 1, $3, $4)
      returning id`,
      [run, query, state, served],
    )
    if (typeof answer === 'string') return null
    const serp = Array.isArray(answer) ? { results: answer } : (answer as Serp)
    const search = await this.#search({ task: id, query, serp, night })
    await this.#pool.query('update tasks set search_id = $1 where id = $2', [search, id])
    return search
  }

  async #newest(query: string): Promise<number | null> {
    const { rows } = await this.#pool.query<{ id: number }>(
      'select id from searches where query_id = $1 order by fetched_at desc limit 1',
      [query],
    )
    return rows[0]?.id ?? null
  }

  async #query(q: string, run: number): Promise<string> {
    const said = this.#said.get(q) ?? {}
    const id = this.idOf(q)
    const text = q.split(' @')[0] ?? q
    await this.#pool.query(
      `insert into queries (id, key, q, hl, gl, device, num)
      values ($1, $2, $3, $4, $5, $6, $7)
      on conflict do nothing`,
      [id, id, text, said.hl ?? null, said.gl ?? null, said.device ?? null, said.num ?? 10],
    )
    await this.#pool.query(
      `insert into list_queries (list_id, query_id, weight, tags, target_url, last_seen)
      select list_id, $2, $3, $4, $5, timestamptz '2026-01-01' + id * interval '1 second'
      from runs
      where id = $1
      on conflict (list_id, query_id) do update
      set weight = excluded.weight,
        tags = excluded.tags,
        target_url = excluded.target_url,
        last_seen = excluded.last_seen`,
      [run, id, said.weight ?? null, said.tags ?? [], said.target ?? null],
    )
    // As in the planner: values of a list and the run that they apply to begin at the same time.
    await this.#pool.query('update runs set created_at = clock_timestamp() where id = $1', [run])
    return id
  }

  async #search(order: { task: number; query: string; serp: Serp; night: Night }): Promise<number> {
    const { task, query, serp, night } = order
    const { id } = await this.#one<{ id: number }>(
      `insert into calls (task_id, query_id, account_id, worker, sent_at, finished_at, start_seq, start_total,
        credits_reserved, credits_used, http_status, outcome, class)
      values ($1, $2, 1, 1, $3, $3, 0, 0, 1, $4, 200, 'settled', '10 ')
      returning id`,
      [task, query, new Date(this.#clock), serp.credits ?? 1],
    )
    const results = (serp.unreadable === true ? [] : (serp.results ?? []))
      .map((url, index) => ({
        url,
        position: index + 1,
        title: serp.titles?.[index] ?? `T${index}`,
      }))
      .filter((result): result is { url: string; position: number; title: string } => {
        return result.url !== null
      })
    await this.#pool.query(
      `insert into searches (id, call_id, task_id, query_id, fetched_at, depth, origin, api, intent, sentiment,
        result_count, parse_error, credits_used)
      values ($1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      [
        id,
        task,
        query,
        new Date(this.#clock),
        serp.depth ?? results.at(-1)?.position ?? null,
        night.origin ?? 'live',
        night.api ?? 'api.example.com',
        serp.intent ?? null,
        serp.sentiment ?? null,
        results.length,
        serp.unreadable === true ? 'not JSON' : null,
        serp.credits ?? 1,
      ],
    )
    for (const [index, result] of results.entries()) {
      await this.#result(id, { ...result, ordinal: index + 1, domain: serp.domain })
    }
    await this.#words(id, serp)
    return id
  }

  async #result(
    search: number,
    result: {
      url: string
      position: number
      ordinal: number
      title: string
      domain: string | null | undefined
    },
  ): Promise<void> {
    const url = result.url.includes('://') ? result.url : `https://${result.url}`
    const { host, key } = readAddress(url)
    const page = pageId(url)
    const hostId = host === null ? null : contentId('domain', host)
    const named = result.domain === undefined ? host : result.domain
    const namedId = named === null ? null : contentId('domain', named)
    for (const [domain, name] of [
      [hostId, host],
      [namedId, named],
    ]) {
      if (domain === null || domain === undefined) continue
      await this.#pool.query(
        'insert into domains (id, host, site) values ($1, $2, null) on conflict do nothing',
        [domain, name],
      )
    }
    await this.#pool.query(
      'insert into pages (id, domain_id, url, url_key) values ($1, $2, $3, $4) on conflict do nothing',
      [page, hostId, url, key],
    )
    await this.#pool.query(
      `insert into organic_results (search_id, ordinal, position, page_id, domain_id, title)
      values ($1, $2, $3, $4, $5, $6)`,
      [search, result.ordinal, result.position, page, namedId, result.title],
    )
  }

  async #words(
    search: number,
    { entities = [], clusters = [], related = [] }: Serp,
  ): Promise<void> {
    for (const [index, name] of entities.entries()) {
      const id = contentId('entity', name, 'thing')
      await this.#pool.query(
        "insert into entities (id, name, type) values ($1, $2, 'thing') on conflict do nothing",
        [id, name],
      )
      await this.#pool.query('insert into search_entities values ($1, $2, $3)', [
        search,
        id,
        index + 1,
      ])
    }
    for (const [index, label] of clusters.entries()) {
      const id = contentId('cluster', label)
      await this.#pool.query('insert into clusters values ($1, $2) on conflict do nothing', [
        id,
        label,
      ])
      await this.#pool.query('insert into search_clusters values ($1, $2, $3)', [
        search,
        id,
        index + 1,
      ])
    }
    for (const [index, q] of related.entries()) {
      const id = contentId('related', q)
      await this.#pool.query(
        'insert into related_searches values ($1, $2) on conflict do nothing',
        [id, q],
      )
      await this.#pool.query('insert into search_related_searches values ($1, $2, $3)', [
        search,
        id,
        index + 1,
      ])
    }
  }

  async #one<Row extends object>(text: string, values: unknown[]): Promise<Row> {
    const { rows } = await this.#pool.query<Row>(text, values)
    const [row] = rows
    if (row === undefined) throw new Error('expected a row, got none')
    return row
  }
}

/** Roles belong to the server, not to the dropped database, so the role created by a test is dropped with it. */
export async function dropReader(pool: Pool): Promise<void> {
  const reader = await ensureReader(pool)
  if (reader !== null) await pool.query(`drop owned by ${reader}; drop role ${reader}`)
}

/** Ten addresses of ten domains, a1.com to a10.com. */
export function ten(letter: string): string[] {
  return Array.from({ length: 10 }, (_, index) => `${letter}${index + 1}.com/`)
}

/** The same addresses with a different one at a position. */
export function placed(addresses: readonly string[], place: number, address: string): string[] {
  return addresses.with(place - 1, address)
}
