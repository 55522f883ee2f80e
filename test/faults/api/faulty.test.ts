// @module-tag slow
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { get } from '../../service/get.ts'
import type { KnobsInput } from './knobs.ts'
import { type Faulty, startFaulty } from './standin.ts'

let api: Faulty

async function start(knobs: KnobsInput = {}): Promise<Faulty> {
  api = await startFaulty(knobs)
  return api
}

function ask(path = '/v1/search?q=a&num=10') {
  return get(`${api.url}${path}`, { authorization: `Bearer ${api.key}` })
}

afterEach(() => api.close())

describe('a healthy stand-in', () => {
  test('answers in the format of the service, and its records show the charge', async () => {
    await start({ credits: 50 })
    const { status, body } = await ask('/v1/search?q=tea%20pots&num=25&gl=DE')
    expect(status).toBe(200)
    expect(JSON.parse(String(body))).toMatchObject({
      success: true,
      query: 'tea pots',
      credits_used: 3,
      credits_remaining: 47,
    })
    expect(api.charges()).toMatchObject([
      { n: 1, q: 'tea pots', num: 25, gl: 'DE', charged: 3, balance: 47, what: 'answered' },
    ])
    expect([api.balance(), api.least()]).toEqual([47, 47])
  })

  test('gives the same query the same answer each time', async () => {
    await start()
    const [first, other, again] = [await ask(), await ask('/v1/search?q=b&num=10'), await ask()]
    const results = (text: { body: Buffer }) =>
      (JSON.parse(String(text.body)) as { organic_results: unknown }).organic_results
    expect(results(again)).toEqual(results(first))
    expect(results(other)).not.toEqual(results(first))
  })

  test('rejects a missing key with 401 and another one with 403, and charges neither', async () => {
    await start()
    const none = await get(`${api.url}/v1/search?q=a`, {})
    const wrong = await get(`${api.url}/v1/search?q=a`, { authorization: 'Bearer sk_live_other' })
    expect([none.status, wrong.status]).toEqual([401, 403])
    expect(api.charges().map(({ what, charged }) => [what, charged])).toEqual([
      ['refused', 0],
      ['refused', 0],
    ])
  })

  test('rejects with 402 what the balance does not cover, and never goes below zero', async () => {
    await start({ credits: 2 })
    const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await ask()).status))
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 402, 402, 402])
    expect(api.least()).toBe(0)
  })

  test('has no address through which a client could change its settings', async () => {
    await start()
    for (const path of ['/set', '/charges', '/balance']) expect((await ask(path)).status).toBe(404)
    expect(new URL(api.admin).port).not.toBe(new URL(api.url).port)
  })

  test('answers a test key free of charge', async () => {
    await start({ kind: 'test', credits: 7 })
    expect(JSON.parse(String((await ask()).body))).toMatchObject({
      credits_used: 0,
      credits_remaining: 7,
    })
  })
})

describe('prices, times and other hands', () => {
  test('a price by num and a price range are charged as set', async () => {
    await start({ cost: { byNum: { 10: 7 } }, credits: 100 })
    await ask()
    expect(api.balance()).toBe(93)
    api.set({ cost: { least: 2, most: 4 } })
    await ask()
    expect(93 - api.balance()).toBeGreaterThanOrEqual(2)
    expect(93 - api.balance()).toBeLessThanOrEqual(4)
  })

  test('a request can be charged on arrival or when its answer is sent', async () => {
    await start({ chargeAt: 'end', delayMs: 50 })
    const answer = ask()
    while (api.charges().length === 0) await new Promise(setImmediate)
    expect(api.charges()[0]?.charged).toBe(0)
    await answer
    expect(api.charges()[0]?.charged).toBe(1)
  })

  test('a range of delays makes answers arrive out of order', async () => {
    await start({ delayMs: { least: 0, most: 60 }, seed: 'mixed' })
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        await ask(`/v1/search?q=${index}`)
        order.push(index)
      }),
    )
    expect(order).not.toEqual(order.toSorted((a, b) => a - b))
  })

  test('a renewal and external spend change the balance, and are recorded', async () => {
    await start({ credits: 10 })
    api.books.spendElsewhere(8)
    api.renew(500)
    expect(api.books.events.map(({ what, balance }) => [what, balance])).toEqual([
      ['other', 2],
      ['renewal', 500],
    ])
    expect(api.least()).toBe(2)
  })

  test('records in a file contain every charge, one per line', async () => {
    const logFile = join(mkdtempSync(join(tmpdir(), 'books-')), 'books.ndjson')
    await start({ logFile, faults: [{ kind: 'drop', only: [2] }] })
    await ask()
    await expect(ask()).rejects.toThrow(/aborted|hang up|ECONNRESET/)
    const lines = readFileSync(logFile, 'utf8').trim().split('\n')
    const charges = lines.map((line) => JSON.parse(line) as { type: string; credits: number })
    expect(charges.filter(({ type }) => type === 'charge')).toHaveLength(2)
  })

  test('the operator reads the records and changes the settings through a separate port', async () => {
    await start()
    await ask()
    const set = await fetch(`${api.admin}/set`, {
      method: 'POST',
      body: JSON.stringify({ faults: [{ kind: 'status', status: 503 }] }),
    })
    expect(set.status).toBe(200)
    expect((await ask()).status).toBe(503)
    const books = (await (await fetch(`${api.admin}/charges`)).json()) as { charges: unknown[] }
    expect(books).toMatchObject({
      charged: 1,
      balance: 999,
      charges: [{ charged: 1 }, { charged: 0 }],
    })
    const bad = await fetch(`${api.admin}/set`, { method: 'POST', body: '{"nonsense":1}' })
    expect(bad.status).toBe(400)
  })
})

describe('injected faults', () => {
  const broken = [
    ['drop', { kind: 'drop' }, 1],
    ['reset after the charge', { kind: 'reset' }, 1],
    ['reset before the charge', { kind: 'reset', charged: false }, 0],
    ['a body cut before its length', { kind: 'cut', how: 'length' }, 1],
    ['a body cut between chunks', { kind: 'cut', how: 'chunk' }, 1],
  ] as const
  test.each(broken)(
    '%s breaks the connection and charges as configured',
    async (_name, fault, charged) => {
      await start({ faults: [fault] })
      await expect(ask()).rejects.toThrow(/aborted|hang up|ECONNRESET/)
      expect(api.charges()).toMatchObject([{ charged, what: fault.kind }])
    },
  )

  test('a hang charges and never answers', async () => {
    await start({ faults: [{ kind: 'hang' }] })
    await expect(
      get(`${api.url}/v1/search?q=a`, { authorization: `Bearer ${api.key}` }, 200),
    ).rejects.toThrow('timeout')
    expect(api.charges()).toMatchObject([{ charged: 1, what: 'hang' }])
  })

  test('a drip sends its body in small pieces', async () => {
    await start({ faults: [{ kind: 'drip', everyMs: 1, bytes: 500 }] })
    const { body, chunks } = await ask()
    expect(chunks).toBeGreaterThan(3)
    expect(JSON.parse(String(body))).toMatchObject({ success: true })
  })

  test('a truncated gzip body cannot be decompressed', async () => {
    await start({ faults: [{ kind: 'cut', how: 'gzip' }] })
    const { headers, body } = await ask()
    expect(headers['content-encoding']).toBe('gzip')
    expect(() => gunzipSync(body)).toThrow('unexpected end of file')
  })

  test('a bomb is small in transit and huge after decompression', async () => {
    await start({ faults: [{ kind: 'oversize', bytes: 30_000_000, gzip: true }] })
    const { body } = await ask()
    expect(body.length).toBeLessThan(100_000)
    expect(gunzipSync(body).length).toBeGreaterThanOrEqual(30_000_000)
  })

  const bodies = [
    ['html', /^<!doctype/],
    ['empty', /^$/],
    ['null', /^null$/],
    ['array', /^\[/],
    ['string', /^"x"$/],
    ['half', /^\{"success":true.*[^}]$/],
    ['deep', /\[{150}/],
    ['refusal', /"success":false/],
    ['bytes', /\ufffd/],
  ] as const
  test.each(bodies)('status 200 can contain %s', async (body, shape) => {
    await start({ faults: [{ kind: 'body', body }] })
    const answer = await ask()
    expect(answer.status).toBe(200)
    expect(String(answer.body)).toMatch(shape)
  })

  test('a redirect leads elsewhere and is not charged', async () => {
    await start({ faults: [{ kind: 'redirect', status: 307 }] })
    const { status, headers } = await ask()
    expect([status, headers['location']]).toEqual([307, `${api.url}/v1/elsewhere`])
    expect(api.charges()[0]?.charged).toBe(0)
  })

  const forms = [
    ['seconds', /^3$/],
    ['date', / GMT$/],
    ['past', / GMT$/],
    ['garbage', /^soon$/],
    ['none', /^undefined$/],
    ['huge', /^\d{9}$/],
    ['negative', /^-5$/],
    ['zero', /^0$/],
  ] as const
  test.each(forms)('429 can have the form of Retry-After called %s', async (retryAfter, shape) => {
    await start({ faults: [{ kind: 'rate', retryAfter, seconds: 3 }] })
    const { status, headers } = await ask()
    expect(status).toBe(429)
    expect(String(headers['retry-after'])).toMatch(shape)
    expect(api.charges()[0]?.charged).toBe(0)
  })

  test.each([true, false])('a 5xx can be charged: %s', async (charged) => {
    await start({ faults: [{ kind: 'status', status: 502, charged }] })
    const { status, body } = await ask()
    expect(status).toBe(502)
    expect(JSON.parse(String(body))).toMatchObject({ error: { code: 'BAD_GATEWAY' } })
    expect(api.balance()).toBe(charged ? 999 : 1000)
  })

  const numbers = [
    ['missing', /"related_searches":\[[^\]]*\]\}$/],
    ['null', /"credits_used":null,"credits_remaining":null\}$/],
    ['string', /"credits_used":"1","credits_remaining":"999"\}$/],
    ['float', /"credits_used":1\.5,/],
    ['nan', /"credits_used":"NaN"/],
    ['negative', /"credits_remaining":-1\}$/],
    ['huge', /"credits_remaining":9007199254740993\}$/],
    ['text', /"credits_used":"lots"/],
    ['zero', /"credits_used":0,"credits_remaining":0\}$/],
  ] as const
  test.each(numbers)('credits can be reported as %s', async (value, shape) => {
    await start({ faults: [{ kind: 'credits', value }] })
    expect(String((await ask()).body)).toMatch(shape)
  })

  const oddities = [
    'types',
    'missing',
    'extra',
    'characters',
    'positions',
    'urls',
    'shapes',
    'empty',
  ]
  test.each(oddities)('fields can be unusual: %s, and the body is still JSON', async (what) => {
    await start()
    const good = String((await ask()).body)
    api.set({ faults: [{ kind: 'fields', what } as never] })
    const odd = String((await ask()).body)
    expect(JSON.parse(odd)).toMatchObject({ success: true })
    expect(odd).not.toBe(good)
  })

  test('an answer can belong to another query', async () => {
    await start({ faults: [{ kind: 'echo' }] })
    expect(JSON.parse(String((await ask()).body))).toMatchObject({
      query: 'something else entirely',
    })
  })

  test('a charge can happen after the connection is closed', async () => {
    await start({ faults: [{ kind: 'late', what: 'charge', afterMs: 30 }] })
    await expect(ask()).rejects.toThrow(/aborted|hang up|ECONNRESET/)
    expect(api.balance()).toBe(1000)
    while (api.balance() === 1000) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(api.charges()).toMatchObject([{ charged: 1, what: 'late' }])
  })

  test('affect exactly the configured requests', async () => {
    await start({
      faults: [
        { kind: 'status', status: 500, only: [2] },
        { kind: 'status', status: 503, match: 'poison', times: 2 },
        { kind: 'status', status: 504, from: 6 },
      ],
    })
    const paths = ['a', 'b', 'poison', 'poison', 'poison', 'c']
    const statuses = []
    for (const q of paths) statuses.push((await ask(`/v1/search?q=${q}`)).status)
    expect(statuses).toEqual([200, 500, 503, 503, 200, 504])
  })

  test('chosen at random affect the same requests for the same seed, in any order of arrival', async () => {
    const queries = Array.from({ length: 40 }, (_, index) => `q${index}`)
    const strike = async (order: readonly string[]) => {
      await start({ seed: 'fixed', faults: [{ kind: 'status', status: 500, chance: 0.3 }] })
      const struck = []
      for (const q of order) if ((await ask(`/v1/search?q=${q}`)).status === 500) struck.push(q)
      await api.close()
      return struck.toSorted()
    }
    const first = await strike(queries)
    expect(await strike(queries.toReversed())).toEqual(first)
    expect(first.length).toBeGreaterThan(3)
    expect(first.length).toBeLessThan(30)
    await start()
  })
})
