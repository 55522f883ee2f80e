import { createServer } from 'node:http'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answered, Provider } from '../../src/service/sell.ts'
import { openTables, type Tables } from '../../src/service/database.ts'
import { type FoundKey, Keys } from '../../src/service/keys.ts'
import { closeServer } from '../../src/service/listen.ts'
import { bindLoopback } from '../support/loopback.ts'
import { openCredits } from '../../src/service/credits.ts'
import { Refusal } from '../../src/service/refusal.ts'
import { readSearch } from '../../src/service/schemas.ts'
import { sellAnswer } from '../../src/service/sell.ts'
import { emptyUrl } from '../support/database.ts'
import { get } from './get.ts'
import { openShop, type Shop } from './shop.ts'
import { withoutDatabase } from './without.ts'

let shop: Shop
let live: string
let lines = ''

beforeAll(async () => {
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines += String(chunk)
      done()
    },
  })
  shop = await openShop({ log: pino(sink) })
  live = await shop.live()
})
afterAll(() => shop.service.close())

async function left(key: string): Promise<number | undefined> {
  const { json } = await shop.ask('/v1/search?q=count&num=1', key)
  return json.credits_remaining
}

describe('invalid search requests', () => {
  test('other methods are a 405 that names GET, and spend nothing', async () => {
    const key = await shop.live(5)
    for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const { status, headers } = await shop.ask('/v1/search?q=a', key, { method })
      expect([method, status, headers.allow]).toEqual([method, 405, 'GET'])
    }
    expect(await left(key)).toBe(4)
  })

  test('an address over 16 KB is a 414, a head over the limit a 431, both in the error format', async () => {
    const long = await shop.ask(`/v1/search?q=${'a'.repeat(17_000)}`, live)
    expect([long.status, long.json.error?.code]).toEqual([414, 'URI_TOO_LONG'])
    const endless = await shop.ask(`/v1/search?q=${'a'.repeat(70_000)}`, live)
    expect([endless.status, endless.json.error?.code]).toEqual([
      431,
      'REQUEST_HEADER_FIELDS_TOO_LARGE',
    ])
  })

  test('a query of 2,048 characters is searched, one more is a 400', async () => {
    expect((await shop.ask(`/v1/search?q=${'a'.repeat(2048)}`, live)).status).toBe(200)
    const { status, json } = await shop.ask(`/v1/search?q=${'a'.repeat(2049)}`, live)
    expect([status, json.error?.message]).toEqual([400, 'q must be at most 2048 characters'])
  })

  test('broken percent-encoding is taken literally', async () => {
    const { status, json } = await shop.ask('/v1/search?q=100%&num=1', live)
    expect([status, json.query]).toEqual([200, '100%'])
    expect((await shop.ask('/v1/search?q=%ff%fe', live)).status).toBe(200)
  })

  test('a query with a NUL is searched for and returned as it was sent', async () => {
    const { status, json } = await shop.ask('/v1/search?q=a%00b', live)
    expect([status, json.query]).toEqual([200, 'a\0b'])
  })

  test('every repeated parameter is a 400', async () => {
    const parameters = { q: 'b', num: '3', hl: 'en', gl: 'us', location: 'x', device: 'mobile' }
    for (const [name, value] of Object.entries(parameters)) {
      const path = `/v1/search?q=a&${name}=${value}&${name}=${value}`
      expect([name, (await shop.ask(path, live)).status]).toEqual([name, 400])
    }
  })

  test('unknown parameters are ignored', async () => {
    expect((await shop.ask('/v1/search?q=a&pages=2&__proto__=1&constructor=x', live)).status).toBe(
      200,
    )
  })

  test('bytes that are not HTTP are answered in the error format', async () => {
    const text = await new Promise<string>((resolve, reject) => {
      let got = ''
      const socket = connect(shop.service.port, '127.0.0.1', () => socket.write('nonsense\r\n\r\n'))
      socket.on('data', (chunk: Buffer) => (got += String(chunk)))
      socket.on('end', () => resolve(got))
      socket.on('error', reject)
    })
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(text).toContain('"success":false')
  })

  test('two services that start at once on an empty database both answer', async () => {
    const databaseUrl = await emptyUrl()
    const shops = await Promise.all([openShop({ databaseUrl }), openShop({ databaseUrl })])
    const key = await shops[0].test()
    for (const one of shops) expect((await one.ask('/v1/search?q=a', key)).status).toBe(200)
    await Promise.all(shops.map(({ service }) => service.close()))
  })
})

describe('searches that fail', () => {
  let tables: Tables
  let key: FoundKey
  const search = readSearch({ q: 'x', num: 40 })

  beforeAll(async () => {
    tables = await openTables(shop.databaseUrl, 2)
    const keys = new Keys(tables.pool)
    const issued = await keys.create({ kind: 'live', credits: 10 })
    const found = await keys.find(issued.key)
    if (found === null) throw new Error('expected the key to be found')
    key = found
  })
  afterAll(() => tables.pool.end())

  function provider(answer: () => Promise<Answered>): Provider {
    return { name: 'broken', answer }
  }

  function shelf(answer: () => Promise<Answered>) {
    const { pool } = tables
    return {
      pool,
      reserveCredits: openCredits(pool),
      provider: provider(answer),
      leaseMs: 5000,
    }
  }

  function order(deadlineMs = 2000) {
    const deadline = performance.now() + deadlineMs
    return { key, search, gone: new AbortController().signal, deadline }
  }

  async function fail(answer: () => Promise<Answered>): Promise<unknown> {
    return await sellAnswer(shelf(answer), order()).catch((error: unknown) => error)
  }

  async function used(): Promise<number | undefined> {
    const { rows } = await tables.pool.query<{ used: number }>(
      'select used from accounts where id = $1',
      [key.accountId],
    )
    return rows[0]?.used
  }

  test.each([502, 503] as const)('a provider that fails with %i is refunded', async (status) => {
    const error = await fail(() => Promise.reject(new Refusal(status, 'down')))
    expect(error).toMatchObject({ status })
    expect(await used()).toBe(0)
  })

  test('a provider that takes too long is a 504, and refunded', async () => {
    expect(await fail(() => new Promise(() => undefined))).toMatchObject({ status: 504 })
    expect(await used()).toBe(0)
  })

  test('the wait for credits counts toward the deadline', async () => {
    const parts = shelf(() => new Promise(() => undefined))
    const start = performance.now()
    const sales = Array.from({ length: 3 }, () => sellAnswer(parts, order(1000)))
    const ends = await Promise.allSettled(sales)
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(performance.now() - start).toBeLessThan(1800)
    expect(await used()).toBe(0)
  })

  test('a bug in a provider is refunded', async () => {
    expect(await fail(() => Promise.reject(new TypeError('a bug')))).toBeInstanceOf(TypeError)
    expect(await used()).toBe(0)
  })

  test('the number of results decides the price, the rest is released', async () => {
    const empty = { intent: '', sentiment: '', clusters: [], entities: [], related_searches: [] }
    const answered = { answer: { ...empty, organic_results: [] }, ignored: [], partial: false }
    const parts = shelf(() => Promise.resolve(answered))
    expect(await sellAnswer(parts, order())).toMatchObject({ used: 1, remaining: 9 })
    expect(await used()).toBe(1)
  })
})

describe('secrets', () => {
  test('no part of a key is in any log line, whatever fails', async () => {
    await shop.ask(`/v1/search?q=a&api_key=${live}`)
    await shop.ask(`/v1/search?num=x&api_key=${live}`)
    await shop.ask(`/v1/${live}`)
    await shop.ask('/v1/search?q=%ff', live)
    expect(lines).not.toContain(live.slice(8))
  })

  test('an answer may not be cached, and sends no referrer', async () => {
    for (const path of ['/v1/search?q=a', '/v1/search']) {
      const { headers } = await shop.ask(path, live)
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      expect(headers['access-control-allow-origin']).toBeUndefined()
    }
  })
})

describe('the shutdown of the service', () => {
  async function openSlow() {
    const answers: (() => void)[] = []
    let arrived = () => {}
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    const server = createServer((_request, response) => {
      answers.push(() => response.end('done'))
      arrived()
    })
    const url = await bindLoopback(server, 0)
    return { server, url, arrival, answer: () => answers.forEach((end) => end()) }
  }

  test('answers a request in progress', async () => {
    const { server, url, arrival, answer } = await openSlow()
    const reply = get(url)
    await arrival
    const closed = closeServer(server, 60_000)
    answer()
    expect(String((await reply).body)).toBe('done')
    await closed
    expect(server.listening).toBe(false)
  })

  test('does not wait forever for a request that never ends', async () => {
    const { server, url, arrival } = await openSlow()
    const reply = get(url).catch((error: unknown) => error)
    await arrival
    await closeServer(server, 10)
    expect(await reply).toMatchObject({ code: 'ECONNRESET' })
  })
})

describe('the service and its database', () => {
  test('health is 200 while the database answers', async () => {
    expect((await shop.ask('/healthz')).status).toBe(200)
  })

  test('an unreachable database is a 503 in the error format', async () => {
    const lone = await openShop()
    const key = await lone.live()
    await withoutDatabase(lone.databaseUrl, async () => {
      const { status, json } = await lone.ask('/v1/search?q=a', key)
      expect([status, json.error?.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
      expect((await lone.ask('/healthz')).status).toBe(503)
    })
    expect((await lone.ask('/v1/search?q=a', key)).status).toBe(200)
    await lone.service.close()
  })

  test('a hanging database makes every request a 503', async () => {
    // Long enough for a busy machine to answer in afterwards.
    const lone = await openShop({ deadlineMs: 3_000 })
    const [key, mock] = [await lone.live(), await lone.test()]
    const { pool } = await openTables(lone.databaseUrl, 1)
    const client = await pool.connect()
    await client.query('begin')
    await client.query('lock table keys, accounts, usage in access exclusive mode')
    const asked = [
      lone.ask('/v1/search?q=a', key),
      lone.ask('/v1/search?q=a', key, { headers: { 'idempotency-key': 'one' } }),
      lone.ask('/v1/search?q=a', mock),
      lone.ask('/v1/usage', key),
      lone.ask('/dashboard'),
    ]
    for (const { status, headers, json } of await Promise.all(asked)) {
      expect([status, headers['retry-after']]).toEqual([503, '5'])
      expect(json.error?.code).toBe('SERVICE_UNAVAILABLE')
    }
    await client.query('rollback')
    client.release()
    await pool.end()
    const { status, json } = await lone.ask('/v1/search?q=a', key)
    expect([status, json.credits_remaining]).toEqual([200, 999])
    await lone.service.close()
  })
})
