// @module-tag slow
import { connect } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashKey } from '../../src/service/keys.ts'
import { patienceMs } from '../support/patience.ts'
import { openShop, type Shop } from './shop.ts'
import { fakeResult, startFakeSearxng } from './upstream/metasearch.ts'

let shop: Shop

beforeAll(async () => {
  shop = await openShop()
})
afterAll(() => shop.service.close())

/** Sends raw bytes to the port; returns what arrives until the connection ends or becomes silent. */
function converse(text: string, quietMs = 300): Promise<{ got: string; ended: boolean }> {
  return new Promise((resolve, reject) => {
    let [got, ended] = ['', false]
    const socket = connect(shop.service.port, '127.0.0.1', () => socket.write(text, 'latin1'))
    const finish = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ got, ended })
    }
    let timer = setTimeout(finish, patienceMs)
    socket.on('data', (chunk: Buffer) => {
      got += String(chunk)
      clearTimeout(timer)
      timer = setTimeout(finish, quietMs)
    })
    socket.on('end', () => {
      ended = true
      finish()
    })
    socket.on('error', reject)
  })
}

async function query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: shop.databaseUrl })
  await client.connect()
  try {
    await client.query('set search_path to service')
    return (await client.query(text, values)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

async function searched(key: string): Promise<unknown[]> {
  const text = 'select q from usage join keys on keys.id = key_id where hash = $1'
  return (await query(text, [hashKey(key)])).map(({ q }) => q)
}

const hidden = 'GET /v1/search?q=smuggled HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer KEY\r\n\r\n'
const line = 'GET /v1/search?q=open HTTP/1.1\r\n'
const head = `${line}Host: a\r\nAuthorization: Bearer KEY\r\n`
const chunks = `\r\n0\r\n\r\n${hidden}`

describe('a request that smuggles in another', () => {
  test.each([
    ['two lengths', `${head}Content-Length: 0\r\nContent-Length: 5\r\n\r\n${hidden}`],
    ['a list of lengths', `${head}Content-Length: 0, 5\r\n\r\n${hidden}`],
    ['a signed length', `${head}Content-Length: +5\r\n\r\n${hidden}`],
    ['a length below nothing', `${head}Content-Length: -1\r\n\r\n${hidden}`],
    ['a length in hexadecimal', `${head}Content-Length: 0x5\r\n\r\n${hidden}`],
    ['a folded length', `${head}Content-Length: 0\r\n 5\r\n\r\n${hidden}`],
    ['length and chunks', `${head}Content-Length: 99\r\nTransfer-Encoding: chunked\r\n${chunks}`],
    ['chunks and length', `${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n${chunks}`],
    ['an unknown encoding', `${head}Transfer-Encoding: xchunked\r\n${chunks}`],
    [
      'an encoding after chunks',
      `${head}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n${chunks}`,
    ],
    ['a space before the colon', `${head}Transfer-Encoding : chunked\r\n${chunks}`],
    ['a control character', `${head}Transfer-Encoding: \x0bchunked\r\n${chunks}`],
    [
      'an encoding of HTTP/1.0',
      `${head.replace('1.1', '1.0')}Transfer-Encoding: chunked\r\n${chunks}`,
    ],
    [
      'a chunk too long to count',
      `${head}Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n${hidden}`,
    ],
    ['a line feed in a chunk', `${head}Transfer-Encoding: chunked\r\n\r\n0;x\n\r\n${hidden}`],
    ['a carriage return alone', `${head}X: a\rContent-Length: 99\r\n\r\n${hidden}`],
    ['line feeds alone', `${head}Content-Length: 99\r\n\r\n${hidden}`.replaceAll('\r', '')],
    ['a NUL', `${head}X: a\0b\r\n\r\n${hidden}`],
    ['two hosts', `${head}Host: b\r\n\r\n${hidden}`],
    ['no host', `${line}Authorization: Bearer KEY\r\n\r\n${hidden}`],
    ['a wonder expected', `${head}Expect: wonders\r\n\r\n${hidden}`],
    ['HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${hidden}`],
  ])('is refused, and its connection closed with the bytes after it: %s', async (_, text) => {
    const key = await shop.live(5)
    const { got, ended } = await converse(text.replaceAll('KEY', key), patienceMs)
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual([expect.stringMatching(/^HTTP\/1\.1 4(00|17)$/)])
    expect(got).toMatch(/\r\nx-request-id: req_[^]*"success":false/)
    expect(ended).toBe(true)
    expect(await searched(key)).not.toContain('smuggled')
  })

  test('in the body of a GET is only a body, and is not searched for', async () => {
    const key = await shop.live(5)
    const text = `${head}Content-Length: ${hidden.length + 39}\r\n\r\n${hidden}`
    const { got } = await converse(text.replaceAll('KEY', key))
    expect(got.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
    expect(await searched(key)).toEqual(['open'])
  })

  test.each([
    ['a host that is none', 'GET /v1/search?q=a HTTP/1.1\r\nHost: a/b?c\r\n\r\n'],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('or has no address is answered in the error format: %s', async (_, text) => {
    const { got } = await converse(text)
    expect(got).toMatch(/^HTTP\/1\.1 400 /)
    expect(got).toMatch(/\r\nx-request-id: req_\w{32}\r\n/i)
    expect(got).toContain('"code":"BAD_REQUEST"')
  })

  test('with two keys in two headers is refused with both', async () => {
    const key = await shop.live(5)
    const { got } = await converse(
      `${head}Authorization: Bearer other\r\n\r\n`.replaceAll('KEY', key),
    )
    expect(got).toMatch(/^HTTP\/1\.1 403 /)
  })
})

describe('a page of another site', () => {
  test('is never allowed by CORS, whatever it requests', async () => {
    const key = await shop.live(5)
    const origin = 'https://evil.example'
    const preflight = {
      origin,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    }
    const paths = [
      '/v1/search?q=a',
      '/v1/usage',
      '/openapi.json',
      '/dashboard',
      '/healthz',
      '/docs/errors',
      '/nowhere',
    ]
    for (const path of paths) {
      const asked = await shop.ask(path, key, { headers: { origin } })
      const before = await shop.ask(path, null, { method: 'OPTIONS', headers: preflight })
      expect([path, before.status]).toEqual([path, 405])
      for (const { headers } of [asked, before]) {
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
      }
    }
  })
})

describe('stored data', () => {
  test('contains no key, wherever it was sent, but its hash and its last four characters', async () => {
    const key = await shop.live(50)
    await shop.ask('/v1/search?q=a', key, { headers: { 'idempotency-key': 'stored' } })
    await shop.ask(`/v1/search?q=b&api_key=${key}`)
    await shop.ask(`/v1/search?q=c&num=0&api_key=${key}`)
    await shop.ask(`/v1/usage?api_key=${key}`)
    const tables = await query(
      "select table_name from information_schema.tables where table_schema = 'service'",
    )
    expect(tables.length).toBeGreaterThan(8)
    for (const { table_name: name } of tables) {
      const rows = await query(
        `select to_jsonb(t)::text as row from ${pg.escapeIdentifier(String(name))} as t`,
      )
      expect([name, rows.filter(({ row }) => String(row).includes(key.slice(8, 41)))]).toEqual([
        name,
        [],
      ])
    }
    expect(await query('select tail from keys where hash = $1', [hashKey(key)])).toEqual([
      { tail: key.slice(-4) },
    ])
  })
})

describe('a revoked key', () => {
  test('buys nothing more after its search in progress, which is charged once', async () => {
    const upstream = await startFakeSearxng()
    const web = await openShop({ upstream: 'searxng', searxngUrl: upstream.url })
    let go = () => {}
    const held = new Promise<void>((resolve) => (go = resolve))
    upstream.hold(held)
    upstream.behave(() => ({ results: [fakeResult(1)], suggestions: ['a', 'b', 'c', 'd'] }))
    const issued = await web.service.keys.create({ kind: 'live', credits: 9 })
    const inWork = web.ask('/v1/search?q=tea', issued.key)
    await expect.poll(() => upstream.asked.length).toBe(1)
    await web.service.keys.revoke(String(issued.id))
    expect((await web.ask('/v1/search?q=more', issued.key)).status).toBe(403)
    go()
    const { status, json } = await inWork
    expect([status, json.credits_used, json.credits_remaining]).toEqual([200, 1, 8])
    const used = (await web.service.keys.usage()).find(({ key_id }) => key_id === issued.id)
    expect(used).toMatchObject({ requests: 1, credits: 1 })
    await web.service.close()
    await upstream.close()
  })
})
