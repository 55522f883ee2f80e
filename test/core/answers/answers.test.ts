import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { StoredAnswer } from '../../../src/base/answer.ts'
import { readAnswers, storeAnswers, storing } from '../../../src/core/answers/store.ts'
import { sampleBody } from '../../bench/sample.ts'
import { askQuery, paid } from '../../support/paid.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

const filled = [
  ...['raw_answers', 'searches', 'organic_results', 'search_entities', 'search_clusters'],
  ...['search_related_searches', 'domains', 'pages', 'entities', 'clusters', 'related_searches'],
] as const

beforeEach(async () => {
  // Not truncate, because declared keys prevent it on tables with triggers, even if they are not enforced.
  for (const table of filled) await sql`delete from ${sql.table(table)}`.execute(database.db)
  await askQuery(database.db)
})

function store(answers: readonly StoredAnswer[]): Promise<void> {
  return database.db.transaction().execute((trx) => storeAnswers(trx, answers))
}

async function counts(): Promise<Record<string, number>> {
  const each = filled.map((name) => `(select count(*) from ${name}) as ${name}`).join(', ')
  const { rows } = await sql.raw<Record<string, number>>(`select ${each}`).execute(database.db)
  return rows[0] ?? {}
}

const shoes = {
  success: true,
  query: 'red shoes',
  intent: 'buy',
  sentiment: 'neutral',
  clusters: ['footwear', 'red'],
  entities: [{ name: 'Shoe', type: 'thing' }],
  organic_results: [
    {
      position: 1,
      title: 'Shoes',
      url: 'https://www.example.co.uk/shoes',
      snippet: 'red',
      domain: 'www.example.co.uk',
    },
    { position: 3, url: 'https://www.example.co.uk/shoes' },
  ],
  related_searches: ['blue shoes'],
  credits_used: 2,
  credits_remaining: 98,
}

describe('a stored answer', () => {
  test('has rows in every table, under the number of its call', async () => {
    await store([paid(7, shoes)])
    expect(await counts()).toEqual({
      raw_answers: 1,
      searches: 1,
      organic_results: 2,
      search_entities: 1,
      search_clusters: 2,
      search_related_searches: 1,
      domains: 1,
      pages: 1,
      entities: 1,
      clusters: 2,
      related_searches: 1,
    })
    const search = await database.db.selectFrom('searches').selectAll().executeTakeFirstOrThrow()
    expect(search).toMatchObject({
      id: 7,
      call_id: 7,
      task_id: 70,
      fetched_at: new Date('2026-11-21T12:00:00.123Z'),
      origin: 'live',
      api: 'api.example.com',
      intent: 'buy',
      credits_used: 2,
      credits_remaining: 98,
      result_count: 2,
      depth: 3,
      parse_error: null,
      extra: null,
      as_given: null,
    })
    const results = await database.db
      .selectFrom('organic_results')
      .innerJoin('pages', 'pages.id', 'organic_results.page_id')
      .innerJoin('domains', 'domains.id', 'organic_results.domain_id')
      .select(['ordinal', 'position', 'title', 'url', 'url_key', 'host', 'site'])
      .orderBy('ordinal')
      .execute()
    const place = {
      url: 'https://www.example.co.uk/shoes',
      url_key: 'www.example.co.uk/shoes',
      host: 'www.example.co.uk',
      site: 'example.co.uk',
    }
    expect(results).toEqual([
      { ordinal: 1, position: 1, title: 'Shoes', ...place },
      { ordinal: 2, position: 3, title: null, ...place },
    ])
  })

  test('is unchanged when it is stored again, whatever the second one contains', async () => {
    await store([paid(7, shoes)])
    const before = await counts()
    const [first] = (await readAnswers(database.db, [7])).values()
    await store([paid(7, { ...shoes, intent: 'other', clusters: ['footwear'] }), paid(7, shoes)])
    expect(await counts()).toEqual(before)
    expect([...(await readAnswers(database.db, [7])).values()]).toEqual([first])
  })

  test('that occurs twice in a batch is stored once', async () => {
    await store([paid(7, shoes), paid(7, shoes), paid(8, shoes)])
    expect(await counts()).toMatchObject({ raw_answers: 2, searches: 2, organic_results: 4 })
  })

  test('that is new is stored completely beside one that already exists', async () => {
    await store([paid(7, shoes)])
    await store([paid(7, shoes), paid(8, shoes)])
    const answers = await readAnswers(database.db, [7, 8])
    const [first, second] = [answers.get(7), answers.get(8)]
    expect(first?.organic_results).toHaveLength(2)
    expect(second).toEqual(first)
  })

  test('disappears with a transaction that does not commit', async () => {
    const attempt = database.db.transaction().execute(async (trx) => {
      await storeAnswers(trx, [paid(7, shoes)])
      throw new Error('no')
    })
    await expect(attempt).rejects.toThrow('no')
    expect(Object.values(await counts()).every((count) => count === 0)).toBe(true)
  })

  test('that could not be read is a search with its reason, no rows, and its body', async () => {
    await store([paid(7, '<html>sold out</html>')])
    expect(await counts()).toMatchObject({ raw_answers: 1, searches: 1, organic_results: 0 })
    const search = await database.db.selectFrom('searches').selectAll().executeTakeFirstOrThrow()
    expect(search.parse_error).toMatch(/expected JSON/)
  })

  test('may have an address of ten thousand characters and a snippet of 140,000', async () => {
    const url = `https://example.com/${'a'.repeat(10_000)}`
    const snippet = 'é'.repeat(140_051)
    await store([paid(7, { organic_results: [{ url, snippet }, { url }] })])
    const [rows] = (await readAnswers(database.db, [7])).values()
    expect(rows?.organic_results[0]).toMatchObject({ url, snippet })
    expect(await counts()).toMatchObject({ organic_results: 2, pages: 1 })
  })
})

describe('a body', () => {
  test('is stored byte for byte, whatever its status and content', async () => {
    const odd = Buffer.from([0, 255, 13, 10, 0])
    const refused = { ...paid(2, '{}'), body: odd, status: 503, truncated: true, search: null }
    const empty = { ...paid(3, '{}'), body: Buffer.alloc(0), search: null }
    await store([paid(4, shoes), refused, empty, paid(1, '{"a":"ü"}')])
    const rows = await database.db
      .selectFrom('raw_answers')
      .selectAll()
      .orderBy('call_id')
      .execute()
    expect(
      rows.map(({ call_id, status, truncated, body }) => [call_id, status, truncated, body]),
    ).toEqual([
      [1, 200, false, Buffer.from('{"a":"ü"}')],
      [2, 503, true, odd],
      [3, 200, false, Buffer.alloc(0)],
      [4, 200, false, Buffer.from(JSON.stringify(shoes))],
    ])
    expect(await counts()).toMatchObject({ searches: 2 })
  })
})

describe('writers', () => {
  test('that share hosts, pages and topics never deadlock, and lose nothing', async () => {
    const writers = 4
    const batches = 8
    const size = 25
    const write = async (writer: number) => {
      for (let batch = 0; batch < batches; batch += 1) {
        const first = (writer * batches + batch) * size
        // Each writer stores the same bodies in a different order.
        const bodies = Array.from({ length: size }, (_, index) =>
          sampleBody(batch * size + index, shoes.query),
        )
        const ordered = writer % 2 === 0 ? bodies : bodies.toReversed()
        await store(ordered.map((body, index) => paid(1 + first + index, body)))
      }
    }
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
    const { rows } = await sql<{ deadlocks: number }>`
      select deadlocks from pg_stat_database where datname = current_database()
    `.execute(database.db)
    expect(rows).toEqual([{ deadlocks: 0 }])
    const stored = writers * batches * size
    expect(await counts()).toMatchObject({
      searches: stored,
      organic_results: stored * 10,
      search_entities: stored * 5,
    })
  })

  test('that store the same call at the same time store it once', async () => {
    await Promise.all([1, 2, 3, 4].map(() => store([paid(1, shoes), paid(2, shoes)])))
    expect(await counts()).toMatchObject({ searches: 2, organic_results: 4, search_clusters: 4 })
  })
})

describe('the statement', () => {
  test('reads calls and answers by key and no other table, so its cost does not grow with them', async () => {
    const [query] = storing([paid(7, shoes)])
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>({
      text: `explain ${query?.sql ?? ''}`,
      values: [...(query?.parameters ?? [])],
    })
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).toContain('Insert on organic_results')
    // Whether an index-only scan is used depends on the last vacuum, not on the statement.
    const scans = plan
      .match(/(Seq|Index|Bitmap|Index Only) Scan.*? on \w+/g)
      ?.map((scan) => scan.replace(' Only', ''))
    expect([...new Set(scans)].toSorted()).toEqual([
      'Index Scan using calls_pkey on calls',
      // Read only if a body already exists.
      'Index Scan using searches_pkey on searches',
    ])
  })
})
