import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chooseEncoding } from '../../src/service/listen.ts'
import { bodyCap, inflate, openApi } from '../../src/core/search/call.ts'
import { Secret } from '../../src/base/secret.ts'
import { patienceMs } from '../support/patience.ts'
import { openShop, type Shop } from './shop.ts'

let shop: Shop
let mock: string

beforeAll(async () => {
  shop = await openShop()
  mock = await shop.test()
})
afterAll(() => shop.service.close())

const long = '/v1/search?q=tea&num=100'

function accepting(encoding: string) {
  return { headers: { 'accept-encoding': encoding } }
}

describe('compression', () => {
  test.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ])(
    'makes a long answer smaller, and does not change its content: %s',
    async (encoding, unpack) => {
      const plain = await shop.ask(long, mock)
      const packed = await shop.ask(long, mock, accepting(encoding))
      expect(packed.headers).toMatchObject({
        'content-encoding': encoding,
        'content-length': String(packed.body.length),
        'content-type': 'application/json; charset=utf-8',
        vary: 'Accept-Encoding',
        'x-credits-used': '0',
      })
      expect(packed.body.length).toBeLessThan(plain.body.length / 3)
      expect(unpack(packed.body)).toEqual(plain.body)
    },
  )

  test('is not used for clients that did not request it, which get lengths and bytes as before', async () => {
    for (const path of [long, '/v1/search?q=tea', '/openapi.json', '/docs/errors']) {
      const { headers, body } = await shop.ask(path, mock)
      expect(headers['content-encoding']).toBeUndefined()
      expect(headers['content-length']).toBe(String(body.length))
      expect(headers.vary).toBe('Accept-Encoding')
    }
  })

  test('is not used for short answers, including errors', async () => {
    for (const path of ['/v1/search?q=tea&num=1', '/v1/search', '/healthz', '/nowhere']) {
      const { headers, body } = await shop.ask(path, mock, accepting('gzip, br'))
      expect([path, headers['content-encoding']]).toEqual([path, undefined])
      expect(headers['content-length']).toBe(String(body.length))
    }
  })

  test('is not used for the dashboard, whose pages contain keys', async () => {
    const { status, headers, body } = await shop.ask('/dashboard', null, accepting('gzip, br'))
    expect([status, headers['content-encoding'], body.length > 1024]).toEqual([
      200,
      undefined,
      true,
    ])
  })

  test('does not change the response to HEAD', async () => {
    const options = { ...accepting('gzip, br'), method: 'HEAD' }
    const { status, headers, body } = await shop.ask(long, mock, options)
    expect([status, headers['content-encoding'], body.length]).toEqual([405, undefined, 0])
  })

  test('does not change an answer that is cut off on purpose', async () => {
    const cut = shop.ask('/v1/search?q=trouble:cut', mock, accepting('gzip'))
    await expect(cut).rejects.toThrow('aborted')
  })

  test.each([
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate', null],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['br;q=0, gzip;q=0', null],
    ['*', 'br'],
    ['*;q=0', null],
    ['br;q=0, *', 'gzip'],
    ['identity;q=1, gzip;q=0.5', null],
    ['GZIP ; Q=0.2', 'gzip'],
    ['gzip;q=x', null],
  ])('interprets "Accept-Encoding: %s" as %s', (header, expected) => {
    expect(chooseEncoding(header)).toBe(expected)
  })
})

describe('the client of querymill', () => {
  test('reads compressed answers, up to its limit', async () => {
    const plain = await shop.ask(long, mock)
    for (const encoding of ['gzip', 'br']) {
      const { body } = await shop.ask(long, mock, accepting(encoding))
      expect(await inflate(body, encoding)).toEqual({ bytes: plain.body, truncated: false })
    }
    expect(plain.body.length).toBeLessThan(bodyCap)
  })

  test('requests uncompressed answers, and gets them', async () => {
    const url = new URL(shop.service.url)
    const api = openApi({ url, key: new Secret(mock), timeoutMs: patienceMs, lanes: 1 })
    try {
      const query = { q: 'tea', location: null, hl: null, gl: null, num: 100, device: null }
      const reply = await api.call(query)
      expect(reply).toMatchObject({ kind: 'response', status: 200, truncated: false })
      const body = reply.kind === 'response' ? reply.body : null
      expect(body).toEqual((await shop.ask(long, mock)).body)
    } finally {
      await api.close()
    }
  })
})
