import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShop, type Shop } from './shop.ts'

let shop: Shop
let live: string
let mock: string
let log = ''

function sink(write: (text: string) => void): Writable {
  return new Writable({
    write(chunk, _encoding, done) {
      write(String(chunk))
      done()
    },
  })
}

beforeAll(async () => {
  shop = await openShop({ log: pino(sink((text) => (log += text))) })
  live = await shop.live()
  mock = await shop.test()
})
afterAll(() => shop.service.close())

/** Sends raw bytes to the port, and returns what arrives until the connection ends. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = ''
    const socket = connect(shop.service.port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk: Buffer) => (got += String(chunk)))
    socket.on('close', () => resolve(got))
    socket.on('error', reject)
  })
}

describe('a request id', () => {
  test('is in a header of every response, and in its log line', async () => {
    const paths = ['/v1/search?q=tea', '/v1/search', '/v1/nowhere', '/healthz', '/docs/errors']
    const ids = new Set<string>()
    for (const path of paths) {
      const { headers } = await shop.ask(path, live)
      const id = String(headers['x-request-id'])
      expect(id).toMatch(/^req_[0-9a-f]{32}$/)
      expect(log).toContain(`"request":"${id}"`)
      ids.add(id)
    }
    expect(ids.size).toBe(paths.length)
    expect(log).not.toContain('nowhere')
  })

  test('is in the response to input that is not a request', async () => {
    const text = await raw('nonsense\r\n\r\n')
    const id = /x-request-id: (req_\w+)/.exec(text)?.[1] ?? 'none'
    const line = log.split('\n').find((one) => one.includes(id)) ?? '{}'
    expect(JSON.parse(line)).toMatchObject({ status: 400 })
  })
})

describe('the log', () => {
  test('contains status, time and key of each request, and never the query', async () => {
    const { headers } = await shop.ask('/v1/search?q=secret+garden', live)
    const id = String(headers['x-request-id'])
    const line = JSON.parse(log.split('\n').find((one) => one.includes(id)) ?? '{}') as object
    expect(line).toMatchObject({ status: 200, path: '/v1/search', kind: 'live' })
    expect(line).toMatchObject({ client: '127.0.0.1' })
    expect(line).toHaveProperty('ms')
    expect(log).not.toContain('secret')
  })
})

describe('input that Node would answer itself', () => {
  const both = 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n'
  test.each([
    ['400 BAD_REQUEST', 'GET /v1/search HTTP/1.1\r\n\r\n'],
    ['417 EXPECTATION_FAILED', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n'],
    ['405 METHOD_NOT_ALLOWED', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
    [
      '400 BAD_REQUEST',
      'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ],
    ['400 BAD_REQUEST', `POST / HTTP/1.1\r\nHost: a\r\n${both}\r\n0\r\n\r\n`],
    ['400 BAD_REQUEST', 'GET / HTTP/1.1\r\nHost : a\r\n\r\n'],
  ])('is answered in the error format: %s', async (expected, text) => {
    const [status, code] = expected.split(' ')
    const answer = await raw(text)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer).toContain(`"code":"${code}"`)
  })
})

describe('information about an account in a response', () => {
  test('includes credits and rate in the headers of successes and errors', async () => {
    const { key } = await shop.service.keys.create({ kind: 'live', plan: 'free', rate: 500 })
    const good = await shop.ask('/v1/search?q=tea&num=20', key)
    expect(good.headers).toMatchObject({
      'x-credits-used': '2',
      'x-credits-remaining': '998',
      'x-ratelimit-limit': '500',
      'x-ratelimit-remaining': '499',
    })
    const bad = await shop.ask('/v1/search', key)
    expect(bad.headers).toMatchObject({ 'x-credits-used': '0', 'x-credits-remaining': '998' })
    expect(Number(bad.headers['x-credits-reset'])).toBeGreaterThan(0)
  })

  test('includes plan, balance and days of the account in usage, and of no other', async () => {
    const { key } = await shop.service.keys.create({ kind: 'live', plan: 'free', rate: 50 })
    await shop.ask('/v1/search?q=tea&num=20', key)
    const { status, json } = await shop.ask('/v1/usage', key)
    expect(status).toBe(200)
    expect(json).toEqual({
      success: true,
      plan: 'free',
      credits_quota: 1000,
      credits_used: 2,
      credits_remaining: 998,
      renews_at: expect.stringMatching(/-01T00:00:00.000Z$/) as string,
      rate_limit: 50,
      days: [
        {
          day: new Date().toISOString().slice(0, 10),
          key: `sk_live_…${key.slice(-4)}`,
          requests: 1,
          failures: 0,
          credits: 2,
        },
      ],
    })
    expect((await shop.ask('/v1/usage?days=0', key)).status).toBe(400)
    expect((await shop.ask('/v1/usage')).status).toBe(401)
  })

  test('a rate holds for all keys of an account, over two processes', async () => {
    const one = await shop.service.keys.create({ kind: 'live', credits: 1000, rate: 5 })
    const two = await shop.service.keys.create({ kind: 'live', account: one.account })
    const other = await openShop({ databaseUrl: shop.databaseUrl })
    const start = Date.now()
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (index % 2 === 0 ? shop : other).ask(
          '/v1/search?q=tea',
          index % 3 === 0 ? one.key : two.key,
        ),
      ),
    )
    const seconds = Math.floor(Date.now() / 1000) - Math.floor(start / 1000) + 1
    await other.service.close()
    const passed = replies.filter(({ status }) => status === 200).length
    expect(passed).toBeGreaterThanOrEqual(5)
    expect(passed).toBeLessThanOrEqual(5 * seconds)
  })

  test('has no rate for an account without one, and test keys have the time of their last use', async () => {
    const { key, id } = await shop.service.keys.create({ kind: 'test' })
    const { headers } = await shop.ask('/v1/search?q=a', key)
    expect(headers['x-ratelimit-limit']).toBeUndefined()
    expect((await shop.ask('/v1/usage', key)).json).toMatchObject({ rate_limit: null })
    const lastUse = async () =>
      (await shop.service.keys.list()).find((one) => one.id === id)?.last_used_at
    await expect.poll(lastUse).toBeInstanceOf(Date)
  })
})

describe('parameters', () => {
  test('explicit defaults have the same answer as absent ones', async () => {
    const plain = await shop.ask('/v1/search?q=tea', mock)
    const explicit = await shop.ask('/v1/search?q=tea&num=10&hl=en&device=desktop', mock)
    expect(explicit.json).toEqual(plain.json)
  })

  test('a missing query is reported as missing, a repeated one as repeated', async () => {
    expect((await shop.ask('/v1/search', mock)).json.error?.message).toBe('q must be given')
    expect((await shop.ask('/v1/search?q=a&q=b', mock)).json.error?.message).toBe(
      'q must be given once',
    )
  })
})
