// @module-tag slow
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShop, type Reply, type Shop } from './shop.ts'
import { fakeResult, startFakeSearxng, type FakeSearxng } from './upstream/metasearch.ts'

let shop: Shop
let live: string
let mock: string
let upstream: FakeSearxng
let web: Shop

beforeAll(async () => {
  shop = await openShop({ upstream: 'local' })
  live = await shop.live()
  mock = await shop.test()
  upstream = await startFakeSearxng()
  upstream.behave((params) => {
    const page = Number(params.get('pageno') ?? 1)
    return { results: Array.from({ length: 10 }, (_, index) => fakeResult(10 * page + index)) }
  })
  web = await openShop({ upstream: 'searxng', searxngUrl: upstream.url })
})
afterAll(async () => {
  await Promise.all([shop.service.close(), web.service.close()])
  await upstream.close()
})

function places({ json }: Reply): string[] {
  return json.organic_results?.map(({ position, url }) => `${position} ${url}`) ?? []
}

describe('pages', () => {
  test.each(['test', 'live'] as const)(
    'of a %s key are parts of the one long list, positions included',
    async (kind) => {
      const key = kind === 'test' ? mock : live
      const ask = (rest: string) => shop.ask(`/v1/search?q=css+grid${rest}`, key)
      const whole = places(await ask('&num=30'))
      expect(whole).toHaveLength(30)
      const pieces = [await ask(''), await ask('&page=2'), await ask('&page=3')]
      expect(pieces.flatMap(places)).toEqual(whole)
    },
  )

  test('of a query that few documents match completely repeat no result and lose none', async () => {
    for (const q of ['touch and mouse input', 'storage in the browser', 'css variables']) {
      const ask = async (rest: string) =>
        places(await shop.ask(`/v1/search?q=${encodeURIComponent(q)}${rest}`, live))
      const pieces = [
        await ask(''),
        await ask('&page=2'),
        await ask('&page=3'),
        await ask('&page=4'),
      ]
      expect(pieces.flat()).toEqual(await ask('&num=40'))
    }
  })

  test('have the same labels, whichever is requested', async () => {
    const said = async (page: number) => {
      const { json } = await shop.ask(`/v1/search?q=touch+and+mouse+input&page=${page}`, live)
      return [json.intent, json.sentiment, json.clusters, json.entities, json.related_searches]
    }
    const first = await said(1)
    expect(first[2]).not.toEqual([])
    expect(await said(2)).toEqual(first)
    expect(await said(9)).toEqual(first)
  })

  test('beyond the last are empty, and cost what a search costs', async () => {
    const { status, json } = await shop.ask('/v1/search?q=%22video-dynamic-range%22&page=10', live)
    expect([status, json.organic_results, json.credits_used]).toEqual([200, [], 1])
  })

  test('of the web continue where the previous one ended, whatever the upstream’s page size', async () => {
    const key = await web.live(10)
    const { json } = await web.ask('/v1/search?q=garden&num=7&page=3', key)
    expect(json.organic_results?.map(({ position }) => position)).toEqual([
      15, 16, 17, 18, 19, 20, 21,
    ])
    expect(json.organic_results?.[0]?.url).toBe('https://site.example/24')
    expect(json.credits_used).toBe(1)
  })
})

describe('safe search and freshness', () => {
  test('are passed to the upstream of the web', async () => {
    upstream.asked.length = 0
    const key = await web.live(10)
    const path = '/v1/search?q=garden&safe=strict&freshness=week'
    const { headers } = await web.ask(path, key)
    const [asked] = upstream.asked
    expect(asked).toMatchObject({ safesearch: '2', time_range: 'week' })
    expect(headers['x-ignored-params']).toBeUndefined()
  })

  test('that were not sent are not passed to the upstream, whose settings apply', async () => {
    upstream.asked.length = 0
    await web.ask('/v1/search?q=garden&freshness=any', await web.live(10))
    expect(upstream.asked.flatMap(Object.keys)).not.toContain('safesearch')
    expect(upstream.asked.flatMap(Object.keys)).not.toContain('time_range')
  })

  test('are named as ignored if the documents do not support them', async () => {
    const { headers } = await shop.ask('/v1/search?q=webp&safe=off&freshness=day', live)
    expect(headers['x-ignored-params']).toBe('safe, freshness')
  })
})

describe('invalid parameters', () => {
  test.each([
    ['page=0', 'page must be a whole number from 1 to 10'],
    ['page=11', 'page must be a whole number from 1 to 10'],
    ['page=two', 'page must be a whole number from 1 to 10'],
    ['page=3&num=40', 'page must be at most 2 with num 40: 100 results are within reach'],
    ['safe=on', 'safe must be one of off, moderate, strict'],
    ['freshness=hour', 'freshness must be one of any, day, week, month, year'],
  ])('are a 400 in the error format, and cost nothing: %s', async (query, message) => {
    const key = await shop.live(5)
    const { status, json, headers } = await shop.ask(`/v1/search?q=a&${query}`, key)
    expect([status, json.error?.code, json.error?.message]).toEqual([400, 'BAD_REQUEST', message])
    expect(headers['x-credits-remaining']).toBe('5')
  })
})
