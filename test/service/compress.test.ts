import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
  test('makes a long answer smaller, and does not change its content', async () => {
    const plain = await shop.ask(long, mock)
    const packed = await shop.ask(long, mock, accepting('gzip'))
    expect(packed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'application/json; charset=utf-8',
      vary: 'Accept-Encoding',
      'x-credits-used': '0',
    })
    expect(packed.body.length).toBeLessThan(plain.body.length / 3)
    expect(gunzipSync(packed.body)).toEqual(plain.body)
  })

  test('is not used for clients that did not request it, which get lengths and bytes as before', async () => {
    for (const path of [long, '/v1/search?q=tea', '/openapi.json', '/docs/errors']) {
      const { headers, body } = await shop.ask(path, mock)
      expect(headers['content-encoding']).toBeUndefined()
      expect(headers['content-length']).toBe(String(body.length))
      expect(headers.vary).toBe('Accept-Encoding')
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
})

describe('the client of querymill', () => {
  test('reads compressed answers, up to its limit', async () => {
    const plain = await shop.ask(long, mock)
    const packed = { gzip: gzipSync(plain.body), br: brotliCompressSync(plain.body) }
    for (const [encoding, body] of Object.entries(packed)) {
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
