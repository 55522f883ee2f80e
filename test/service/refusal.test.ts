// @module-tag slow
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTables } from '../../src/service/database.ts'
import { claimAnswer } from '../../src/service/sell.ts'
import { readSearch } from '../../src/service/schemas.ts'
import { Secret } from '../../src/base/secret.ts'
import { openShop, type AskOptions, type Reply, type Shop } from './shop.ts'
import { startFakeSearxng, type FakeSearxng } from './upstream/metasearch.ts'
import { withoutDatabase } from './without.ts'

let shop: Shop
let upstream: FakeSearxng
let web: Shop
let hurried: Shop
let live: string
let slowHead: Promise<string>

beforeAll(async () => {
  shop = await openShop({ password: new Secret('the password of a test') })
  live = await shop.live()
  upstream = await startFakeSearxng()
  web = await openShop({
    databaseUrl: shop.databaseUrl,
    upstream: 'searxng',
    searxngUrl: upstream.url,
  })
  hurried = await openShop({
    databaseUrl: shop.databaseUrl,
    upstream: 'searxng',
    searxngUrl: upstream.url,
    deadlineMs: 1000,
  })
  // Given up after 20 to 25 seconds, while the other cases are tested.
  slowHead = say('GET /v1/search?q=slow HTTP/1.1\r\nHost: a\r\n')
})
afterAll(async () => {
  await hurried.service.close()
  await web.service.close()
  await shop.service.close()
  await upstream.close()
})

/** Sends raw bytes to the port, and reads until the server ends the connection. */
async function say(words: string): Promise<string> {
  const socket = connect(shop.service.port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(words, 'latin1')
  return await text(socket)
}

/** The parts of an error response that a client sees. */
function shown({ status, headers, json }: Reply): object {
  const { 'content-type': type, 'x-request-id': id } = headers
  return { status, type, id, body: json }
}

function shownRaw(got: string): object {
  const [head = '', body = ''] = got.split('\r\n\r\n')
  return {
    status: Number(/^HTTP\/1\.1 (\d+) /.exec(head)?.[1]),
    type: /\r\ncontent-type: (.*)/i.exec(head)?.[1],
    id: /\r\nx-request-id: (.*)/i.exec(head)?.[1],
    body: JSON.parse(body) as unknown,
  }
}

/** The error has only the three fields of section 2.4, the body only its two, and the id is in a header. */
function refusal(status: number): object {
  return {
    status,
    type: 'application/json; charset=utf-8',
    id: expect.stringMatching(/^req_[0-9a-f]{32}$/) as string,
    body: {
      success: false,
      error: {
        code: expect.stringMatching(/^[A-Z_]+$/) as string,
        message: expect.stringMatching(/\S/) as string,
        documentation: expect.stringMatching(/^http.*\/docs\/(errors|authentication)$/) as string,
      },
    },
  }
}

const search = '/v1/search?q=tea'
const tooLong = 'x'.repeat(20_000)

describe('the body of an error has only the fields of the specification', () => {
  const cases: readonly (readonly [number, string, AskOptions?])[] = [
    [400, '/v1/search'],
    [400, '/v1/search?q='],
    [400, `${search}&q=coffee`],
    [400, `${search}&num=0`],
    [400, `${search}&hl=!`],
    [400, `${search}&gl=usa`],
    [400, `${search}&device=watch`],
    [400, `${search}&location=${'x'.repeat(600)}`],
    [400, search, { headers: { 'idempotency-key': 'a b' } }],
    [400, '/v1/usage?days=0'],
    [404, '/nowhere'],
    [404, '/v1/searches'],
    [404, '/v1/%zz'],
    [404, '/%ff/..%2f'],
    [405, search, { method: 'POST' }],
    [405, search, { method: 'DELETE' }],
    [405, search, { method: 'OPTIONS' }],
    [405, '/nowhere', { method: 'PUT' }],
    [414, `/v1/search?q=${tooLong}`],
    [401, '/dashboard'],
    [401, '/dashboard/keys', { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } }],
  ]
  test.each(cases.map(([status, path, options = {}]) => ({ status, path, options })))(
    '$status for $path',
    async ({ status, path, options }) => {
      expect(shown(await shop.ask(path, live, options))).toStrictEqual(refusal(status))
    },
  )

  test('401 without a key, 403 with an unknown one, on every path that requires one', async () => {
    for (const path of [search, '/v1/usage']) {
      expect(shown(await shop.ask(path))).toStrictEqual(refusal(401))
      expect(shown(await shop.ask(path, 'sk_live_unknown'))).toStrictEqual(refusal(403))
      expect(shown(await shop.ask(`${path}${path === search ? '&' : '?'}api_key=x`))).toStrictEqual(
        refusal(403),
      )
    }
  })

  test('402 without credits, 422 for a key of another search, 429 for too many requests', async () => {
    expect(shown(await shop.ask(search, await shop.live(0)))).toStrictEqual(refusal(402))
    const headers = { 'idempotency-key': 'once' }
    await shop.ask(search, live, { headers })
    expect(shown(await shop.ask('/v1/search?q=coffee', live, { headers }))).toStrictEqual(
      refusal(422),
    )
    const { key } = await shop.service.keys.create({ kind: 'live', credits: 50, rate: 1 })
    const many = await Promise.all(Array.from({ length: 20 }, () => shop.ask(search, key)))
    const refused = many.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThan(0)
    for (const reply of refused) expect(shown(reply)).toStrictEqual(refusal(429))
  })

  test('409 while the first request with its Idempotency-Key is in progress', async () => {
    const key = await shop.live(5)
    const found = await shop.service.keys.find(key)
    if (found === null) throw new Error('expected the key to be found')
    const tables = await openTables(shop.databaseUrl, 1)
    const { signal: gone } = new AbortController()
    const tea = { key: found, search: readSearch({ q: 'tea' }), gone, deadline: 0 }
    await claimAnswer(tables.pool, { ...tea, idempotencyKey: 'in-work' }, 60_000)
    await tables.close()
    expect(
      shown(await hurried.ask(search, key, { headers: { 'idempotency-key': 'in-work' } })),
    ).toStrictEqual(refusal(409))
  })

  test('500 for an internal error, 503 without the database', async () => {
    const lone = await openShop()
    const key = await lone.live()
    const database = new pg.Client({ connectionString: lone.databaseUrl })
    await database.connect()
    await database.query('alter table service.usage rename to away')
    await database.end()
    expect(shown(await lone.ask(search, key))).toStrictEqual(refusal(500))
    await withoutDatabase(lone.databaseUrl, async () => {
      for (const path of [search, '/v1/usage', '/healthz']) {
        expect(shown(await lone.ask(path, key))).toStrictEqual(refusal(503))
      }
    })
    await lone.service.close()
  })

  test('502, 503 and 504 for an upstream with invalid answers, failures or time-outs', async () => {
    const key = await web.live()
    upstream.behave(() => ({ status: 200, body: 'nonsense' }))
    expect(shown(await web.ask(search, key))).toStrictEqual(refusal(502))
    upstream.behave(() => ({ status: 500, body: '' }))
    expect(shown(await web.ask(search, key))).toStrictEqual(refusal(503))
    upstream.behave(() => 'never')
    expect(shown(await hurried.ask(search, key))).toStrictEqual(refusal(504))
  })

  test('on the dashboard: 400, 403, 404, and 429 after wrong passwords', async () => {
    const own = { 'sec-fetch-site': 'same-origin' }
    const basic = (password: string) => ({ authorization: `Basic ${btoa(`me:${password}`)}` })
    const right = basic('the password of a test')
    const post = (path: string, headers: Record<string, string>, body = '') =>
      shop.ask(path, null, {
        method: 'POST',
        body,
        headers: { 'content-length': String(body.length), ...right, ...headers },
      })
    expect(shown(await post('/dashboard/keys', own, 'x'.repeat(20_000)))).toStrictEqual(
      refusal(400),
    )
    expect(shown(await post('/dashboard/keys', {}))).toStrictEqual(refusal(403))
    expect(shown(await post('/dashboard/keys/x/revoke', own))).toStrictEqual(refusal(404))
    expect(shown(await post('/dashboard/keys/999999/change', own))).toStrictEqual(refusal(404))
    expect(shown(await post('/dashboard/nothing', own))).toStrictEqual(refusal(404))
    const guesses = Array.from({ length: 12 }, (_, n) => basic(`guess ${n}`))
    const told = []
    for (const headers of guesses) told.push(await shop.ask('/dashboard', null, { headers }))
    for (const reply of told.slice(0, 10)) expect(shown(reply)).toStrictEqual(refusal(401))
    for (const reply of told.slice(10)) expect(shown(reply)).toStrictEqual(refusal(429))
  })
})

describe('rejected input that is not a request has them, too', () => {
  const get = 'GET /v1/search?q=a HTTP/1.1\r\n'
  const host = 'Host: a\r\n'
  test.each([
    [400, 'no HTTP', 'nonsense\r\n\r\n'],
    [400, 'HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    [400, 'no host', `${get}\r\n`],
    [400, 'two hosts', `${get}${host}${host}\r\n`],
    [400, 'a host that is none', `${get}Host: a/b?c\r\nConnection: close\r\n\r\n`],
    [400, 'an asterisk', `OPTIONS * HTTP/1.1\r\n${host}Connection: close\r\n\r\n`],
    [400, 'a space before a colon', `${get}Host : a\r\n\r\n`],
    [400, 'two lengths', `${get}${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`],
    [400, 'a broken chunk', `${get}${host}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`],
    [
      400,
      'a body behind an upgrade',
      `${get}${host}Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 1\r\n\r\nx`,
    ],
    [405, 'CONNECT', `CONNECT a:1 HTTP/1.1\r\n${host}\r\n`],
    [413, 'a large body', `${get}${host}Content-Length: 70000\r\n\r\n`],
    [417, 'a wonder expected', `${get}${host}Expect: wonders\r\n\r\n`],
    [431, 'a large head', `${get}${host}X-Large: ${'x'.repeat(65_600)}\r\n\r\n`],
  ])('%i for %s', async (status, _, words) => {
    expect(shownRaw(await say(words))).toStrictEqual(refusal(status))
  })

  test('408 for a head that does not end', { tags: ['slow'] }, async () => {
    expect(shownRaw(await slowHead)).toStrictEqual(refusal(408))
  })
})
