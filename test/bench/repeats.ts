// Compares two ways of storing repeated titles and snippets, with each result and in a dictionary: bytes per answer and
// cost of storing, over a history in which texts repeat.
import type { Pool } from 'pg'
import { contentId } from '../../src/base/query.ts'
import { openPool } from '../../src/base/database/database.ts'
import type { Ground } from './ground.ts'
import { makeHistory } from './history.ts'
import { startMeter } from './meter.ts'

const batch = 64
const resultsOfAnswer = 10
const hashedAnswers = 5_000

/** Bytes on disk and CPU, each for one answer. */
interface Way {
  readonly bytes: number
  /** CPU of the server for storing its results, in microseconds, with known texts and with new texts. */
  readonly store_known_us: number
  readonly store_new_us: number
}

/** The measured figures: texts that always repeat, and texts of which a fifth is new each night. */
export interface RepeatFigures {
  readonly answers: number
  readonly as_they_are: Way
  readonly once: Way
  readonly once_a_fifth_new: { readonly bytes: number }
  /** CPU of the worker for hashing the texts of an answer, in microseconds. */
  readonly hash_us: number
}

const plain = `(
  search_id bigint not null, page_id uuid, domain_id uuid, position bigint, ordinal integer not null,
  title text, snippet text, extra jsonb, as_given jsonb, primary key (search_id, ordinal)
)`
const named = `(
  search_id bigint not null, page_id uuid, domain_id uuid, position bigint, ordinal integer not null,
  text_id uuid, extra jsonb, as_given jsonb, primary key (search_id, ordinal)
)`

/** Creates the history, stores it in both ways, and adds more answers to both. */
export async function benchRepeats(
  { freshUrl, postgres }: Pick<Ground, 'freshUrl' | 'postgres'>,
  { queries, nights }: { readonly queries: number; readonly nights: number },
): Promise<RepeatFigures> {
  const pool = openPool(await freshUrl(), { name: 'bench', max: 1 })
  try {
    await makeHistory(pool, { queries, nights })
    const bench = new Repeats(pool, postgres.pid, queries * nights)
    const asTheyAre = await bench.keep('as_they_are', plain, null)
    const fifth = await bench.keep('fifth', named, { freshShare: 0.2 })
    const once = await bench.keep('once', named, { freshShare: 0 })
    return {
      answers: queries * nights,
      as_they_are: { bytes: asTheyAre, ...(await bench.storeBoth('as_they_are')) },
      once: { bytes: once, ...(await bench.storeBoth('once')) },
      once_a_fifth_new: { bytes: fifth },
      hash_us: hashCost(),
    }
  } finally {
    await pool.end()
  }
}

class Repeats {
  readonly #pool: Pool
  readonly #server: number
  readonly #answers: number
  #next = 10_000_000

  constructor(pool: Pool, server: number, answers: number) {
    this.#pool = pool
    this.#server = server
    this.#answers = answers
  }

  /** Stores the same rows in another form; returns the bytes per answer, with keys and dictionary. */
  async keep(table: string, shape: string, once: { freshShare: number } | null): Promise<number> {
    await this.#pool.query(`create table ${table} ${shape}`)
    const texts = `${table}_texts`
    await this.#pool.query(`create table ${texts} (id uuid primary key, title text, snippet text)`)
    await this.#pool.query(
      `create temp table told_${table} as ${toldNights(once?.freshShare ?? 0)}`,
    )
    await this.#pool.query(`create index on told_${table} (search_id); analyze told_${table}`)
    if (once !== null) {
      await this.#pool.query(`
        insert into ${texts} select distinct md5(title || snippet)::uuid, title, snippet from told_${table}`)
    }
    await this.#pool.query(`
      insert into ${table} (search_id, page_id, domain_id, position, ordinal, ${once === null ? 'title, snippet' : 'text_id'})
      select search_id, page_id, domain_id, position, ordinal, ${once === null ? 'title, snippet' : 'md5(title || snippet)::uuid'}
      from told_${table} order by search_id, ordinal`)
    await this.#pool.query(`vacuum analyze ${table}`)
    const { rows } = await this.#pool.query<{ bytes: string }>(
      `select pg_total_relation_size('${table}') + pg_total_relation_size('${texts}') as bytes`,
    )
    return Math.round(Number(rows[0]?.bytes) / this.#answers)
  }

  /** Stores answers with known texts, and as many with new texts. */
  async storeBoth(table: string): Promise<Omit<Way, 'bytes'>> {
    return {
      store_known_us: await this.#store(table, ''),
      store_new_us: await this.#store(table, ` || ' as of ' || search_id`),
    }
  }

  /** As a worker does: one statement per batch, dictionaries first and in the order of their ids. */
  async #store(table: string, news: string): Promise<number> {
    const answers = Math.min(6_400, Math.floor(this.#answers / batch) * batch)
    const { rows } = await this.#pool.query<{ first: number }>(
      `select max(search_id) - ${answers} + 1 as first from told_${table}`,
    )
    const first = Number(rows[0]?.first)
    const read = startMeter({ postgres: this.#server })
    for (let done = 0; done < answers; done += batch) {
      await this.#pool.query(storing(table, { from: first + done, to: this.#next, news }))
      this.#next += batch
    }
    return Math.round((read().postgres / answers) * 10) / 10
  }
}

function storing(
  table: string,
  { from, to, news }: { readonly from: number; readonly to: number; readonly news: string },
): string {
  const again = `
    with again as materialized (
      select *, snippet${news} as said, md5(title || snippet${news})::uuid as text_id
      from told_${table}
      where search_id >= ${from} and search_id < ${from + batch}
    )`
  const columns = 'search_id, page_id, domain_id, position, ordinal'
  const values = `search_id - ${from} + ${to}, page_id, domain_id, position, ordinal`
  if (table === 'as_they_are') {
    return `${again}
      insert into ${table} (${columns}, title, snippet) select ${values}, title, said from again`
  }
  return `${again},
    texts as (
      insert into ${table}_texts
      select distinct on (text_id) text_id, title, said from again order by text_id
      on conflict do nothing
    )
    insert into ${table} (${columns}, text_id) select ${values}, text_id from again`
}

/** Titles of about forty characters and snippets of about a hundred and fifty, as on search result pages. */
function toldNights(freshShare: number): string {
  const fresh = `(hashtextextended(o.search_id || '.' || o.ordinal, 3) & 1023) < ${Math.round(freshShare * 1024)}`
  return `
    select
      o.search_id, o.page_id, o.domain_id, o.position, o.ordinal,
      'Page ' || md5(o.page_id::text) || ' of it' as title,
      repeat(md5(o.page_id || q.query_id::text) || ' ', 4) || 'and more of it'
        || case when ${fresh} then ' since ' || o.search_id else '' end as snippet
    from organic_results as o
    join searches as q on q.id = o.search_id`
}

/** The worker computes the ids of dictionary rows as a hash of their content. */
function hashCost(): number {
  const texts = Array.from(
    { length: resultsOfAnswer },
    (_, nth) => `title ${nth} ${'snippet '.repeat(19)}`,
  )
  const before = process.cpuUsage()
  for (let n = 0; n < hashedAnswers; n++) for (const text of texts) contentId('text', `${text}${n}`)
  const { user, system } = process.cpuUsage(before)
  return Math.round(((user + system) / hashedAnswers) * 10) / 10
}
