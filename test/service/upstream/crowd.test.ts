// @module-tag slow
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTables, type Tables, withStatements } from '../../../src/service/database.ts'
import { readQuestion } from '../../../src/service/upstream/terms.ts'
import { freshUrl } from '../../support/database.ts'
import { openShop, type Shop } from '../shop.ts'

const patient = { timeoutMs: 120_000 }

let shop: Shop
let live: string
let mock: string

beforeAll(async () => {
  shop = await openShop({ upstream: 'local' })
  live = await shop.live(1_000_000)
  mock = await shop.test()
  await shop.ask('/v1/search?q=warm', live)
})
afterAll(() => shop.service.close())

const words =
  'web support mdn edge chrome firefox api safari element reference use css object represents api html property event value data method interface page script style text image font media frame node list range window document worker stream key map set array string number type error color grid flex'.split(
    ' ',
  )

/** Queries that are expensive for a server: many words, few words repeated often, many operators, only exclusions. */
function worstQueries(): string[] {
  const turned = (by: number) => [...words.slice(by), ...words.slice(0, by)]
  return [0, 5, 10, 15, 20].flatMap((by) => [
    `${words[by]} `.repeat(300),
    `-${words[by]} -a `.repeat(120),
    `${words[by]} ${turned(by + 1)
      .map((word) => `-${word}`)
      .join(' ')}`,
    turned(by).join(' or '),
    turned(by).join(' '),
    `"${turned(by).slice(0, 20).join(' ')}"`,
    turned(by)
      .map((word) => `"${word} ${words[by]}"`)
      .join(' or '),
    turned(by)
      .map((word) => `${word}qx`)
      .join(' '),
    `${'x'.repeat(1500)} ${by}`,
    `or ${'or '.repeat(300)}${words[by]} or`,
  ])
}

async function timesOf(count: number): Promise<number[]> {
  const times: number[] = []
  for (let asked = 0; asked < count; asked += 1) {
    const start = performance.now()
    expect((await shop.ask(`/v1/search?q=calm+${asked}`, mock)).status).toBe(200)
    times.push(performance.now() - start)
  }
  return times.toSorted((a, b) => a - b)
}

describe('expensive queries', () => {
  test('count three hundred repetitions of a word as one word, and use thirty-two words', () => {
    expect(readQuestion('css '.repeat(300)).words).toEqual(['css'])
    const many = Array.from({ length: 100 }, (_, index) => `w${index}`).join(' ')
    expect(readQuestion(many).words).toHaveLength(32)
    expect(readQuestion('a or '.repeat(200)).operators).toBe('a')
  })

  test('search for exclusions alone as words, and never exclude a vendor prefix', () => {
    expect(readQuestion('-css -a')).toEqual({
      words: ['css', 'a'],
      operators: null,
      names: new Set(),
    })
    expect(readQuestion('-webkit-box-reflect').words).toEqual(['webkit', 'box', 'reflect'])
    expect(readQuestion('css -grid')).toEqual({
      words: ['css'],
      operators: 'css -grid',
      names: new Set(),
    })
  })

  test('answer three hundred repetitions of a word like the word once', async () => {
    const once = await shop.ask('/v1/search?q=css', live)
    const often = await shop.ask(`/v1/search?q=${'css+'.repeat(300)}`, live)
    expect(often.status).toBe(200)
    expect(often.json.organic_results?.map(({ url }) => url)).toEqual(
      once.json.organic_results?.map(({ url }) => url),
    )
  })

  test('from one key, fifty at once, are all answered, and leave another key fast', async () => {
    const calm = await timesOf(100)
    const worst = worstQueries()
    expect(new Set(worst).size).toBe(50)
    const crowd = Promise.all(
      worst.map((q) => shop.ask(`/v1/search?q=${encodeURIComponent(q.slice(0, 2048))}`, live)),
    )
    const busy = await timesOf(100)
    expect((await shop.ask('/healthz')).status).toBe(200)
    expect(new Set((await crowd).map(({ status }) => status))).toEqual(new Set([200]))
    // Both run on the same cores; the test excludes only waiting for a slot behind the fifty.
    expect(busy[98] ?? Infinity).toBeLessThan(Math.max(1000, 20 * (calm[98] ?? 0)))
  })

  test('from two keys with three hundred searches each leave a third one its turn', async () => {
    const [one, other, third] = [await shop.live(), await shop.live(), await shop.live()]
    let answered = 0
    const crowd = Array.from({ length: 600 }, async (_, index) => {
      const key = index % 2 === 0 ? one : other
      const { status } = await shop.ask(`/v1/search?q=css+${index}&num=10`, key, patient)
      if (status === 200) answered += 1
    })
    await expect.poll(() => answered, { interval: 1 }).toBeGreaterThan(10)
    const before = answered
    expect((await shop.ask('/v1/search?q=grid', third)).status).toBe(200)
    // It waits for a few searches. Without turns, it waits for nearly all of them.
    expect(answered - before).toBeLessThan(600 / 10)
    await Promise.all(crowd)
  })
})

describe('a search that has ended', () => {
  let tables: Tables
  beforeAll(async () => {
    tables = await openTables(await freshUrl(), 2)
  })
  afterAll(() => tables.close())

  async function atWork(): Promise<number> {
    const { rows } = await tables.pool.query<{ n: number }>(
      "select count(*) as n from pg_stat_activity where state = 'active' and query = 'select pg_sleep(60)' and datname = current_database()",
    )
    return rows[0]?.n ?? -1
  }

  test('cancels its statement on the server', async () => {
    const stop = new AbortController()
    const sleeping = withStatements(tables, stop.signal, (run) =>
      run.rows({ text: 'select pg_sleep(60)' }),
    ).catch((error: unknown) => error)
    await expect.poll(atWork).toBe(1)
    stop.abort()
    expect(await sleeping).toMatchObject({ code: '57014' })
    await expect.poll(atWork).toBe(0)
  })

  test('has its own time limit, below the deadline of the request', async () => {
    const rows = await withStatements(tables, new AbortController().signal, (run) =>
      run.rows<{ ms: number }>({
        text: "select setting::integer as ms from pg_settings where name = 'statement_timeout'",
      }),
    )
    expect(rows[0]?.ms).toBeGreaterThan(0)
    expect(rows[0]?.ms).toBeLessThan(30_000)
  })
})
