import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openShop, type Shop } from './shop.ts'

let shop: Shop
let live: string
let mock: string

beforeAll(async () => {
  shop = await openShop({ upstream: 'local' })
  live = await shop.live(100_000)
  mock = await shop.test()
})
afterAll(() => shop.service.close())

const grid = '/v1/search?q=css%20grid%20layout'
const fields = [
  'clusters',
  'credits_remaining',
  'credits_used',
  'entities',
  'intent',
  'organic_results',
  'query',
  'related_searches',
  'sentiment',
  'success',
]

async function found(path = grid, key = live) {
  const { status, json } = await shop.ask(path, key)
  expect(status).toBe(200)
  return {
    ...json,
    organic_results: json.organic_results ?? [],
    entities: json.entities ?? [],
    related_searches: json.related_searches ?? [],
    clusters: json.clusters ?? [],
    credits_used: json.credits_used ?? -1,
    credits_remaining: json.credits_remaining ?? -1,
  }
}

describe('the behaviour of the service (section 1)', () => {
  test('1: there is one search endpoint, under /v1', async () => {
    const document = (await shop.ask('/openapi.json')).json as { paths?: object }
    // A usage request is not a search.
    expect(Object.keys(document.paths ?? {})).toEqual(['/v1/search', '/v1/usage'])
    for (const path of ['/search', '/v1', '/v1/searches', '/v1/account', '/v1/search/x']) {
      expect((await shop.ask(path, live)).status).toBe(404)
    }
  })

  test('2: an answer contains organic results and related searches', async () => {
    const { organic_results, related_searches } = await found()
    expect(organic_results.length).toBeGreaterThan(5)
    expect(related_searches.length).toBeGreaterThan(0)
  })

  test('3: an answer contains intent, sentiment, clusters and entities', async () => {
    const answer = await found()
    expect(answer.intent).toBe('informational')
    expect(answer.sentiment).toBe('neutral')
    expect(answer.clusters.length).toBeGreaterThan(0)
    expect(answer.entities).toContainEqual({ name: 'CSS Grid Layout', type: 'Technology' })
  })

  test('4: every live request consumes credits', async () => {
    const key = await shop.live(10)
    const left = [await found(grid, key), await found('/v1/search?q=zzqqxx', key)]
    expect(left.map(({ credits_remaining }) => credits_remaining)).toEqual([9, 8])
  })

  test('5: an answer reports credits used and remaining', async () => {
    const key = await shop.live(10)
    const { credits_used, credits_remaining } = await found(grid, key)
    expect([credits_used, credits_remaining]).toEqual([1, 9])
  })

  test('6: every request needs a key', async () => {
    expect((await shop.ask(grid)).status).toBe(401)
    expect((await shop.ask(grid, live)).status).toBe(200)
    expect((await shop.ask(grid)).status).toBe(401)
  })
})

describe('fields of an answer (section 2)', () => {
  test('8: success is the boolean true', async () => {
    expect((await found()).success).toBe(true)
  })

  test('9: query is exactly the searched text, including outer spaces', async () => {
    for (const q of ['  css  grid ', 'größe ✓ 日本', 'a+b & c=d?', '"quoted" -x']) {
      const answer = await found(`/v1/search?q=${encodeURIComponent(q)}`)
      expect(answer.query).toBe(q)
    }
  })

  test('10: intent is one of four labels', async () => {
    const asked = ['css grid layout', 'github login', 'best css framework', 'buy css book']
    const intents = []
    for (const q of asked)
      intents.push((await found(`/v1/search?q=${encodeURIComponent(q)}`)).intent)
    expect(intents).toEqual(['informational', 'navigational', 'commercial', 'transactional'])
  })

  test('11: sentiment is positive, neutral or negative', async () => {
    for (const key of [live, mock]) {
      for (const q of ['webp', 'a', 'b', 'c']) {
        const { sentiment } = await found(`/v1/search?q=${q}`, key)
        expect(['positive', 'neutral', 'negative']).toContain(sentiment)
      }
    }
  })

  test('12: clusters is a list of texts', async () => {
    for (const label of (await found()).clusters) expect(label).toMatch(/\S/)
  })

  test('13: entities is a list of names with types', async () => {
    for (const entity of (await found()).entities) {
      expect(entity).toEqual({
        name: expect.stringMatching(/\S/),
        type: expect.stringMatching(/^[A-Z]/),
      })
    }
  })

  test('14: organic results come in ranked order, the same for the same search', async () => {
    const [first, again] = [await found(), await found()]
    expect(again.organic_results).toEqual(first.organic_results)
    expect(first.organic_results[0]?.title).toMatch(/css grid/i)
  })

  test('15: related searches is a list of queries, none of them the query itself', async () => {
    const { related_searches } = await found()
    expect(new Set(related_searches).size).toBe(related_searches.length)
    expect(related_searches).not.toContain('css grid layout')
  })

  test('a test key gets related searches for any query, and plausible results', async () => {
    for (let number = 1; number <= 30; number += 1) {
      const path = `/v1/search?q=garden+${number}`
      const { related_searches, organic_results } = await found(path, mock)
      expect(related_searches.length).toBeGreaterThan(0)
      for (const { snippet } of organic_results) {
        expect(snippet).toContain(`garden ${number}`)
        expect(snippet).not.toMatch(/mock|result \d/i)
      }
    }
  })

  test('16: credits_used is a whole number', async () => {
    expect(Number.isInteger((await found()).credits_used)).toBe(true)
  })

  test('17: credits_remaining is a whole number, counted after this request', async () => {
    const key = await shop.live(3)
    expect((await found(grid, key)).credits_remaining).toBe(2)
    expect((await shop.service.keys.list()).at(-1)?.credits).toBe(2)
  })

  test('18: all ten fields are present if nothing is found, lists empty and never null', async () => {
    const answer = await found('/v1/search?q=zzqqxx%20yyvvkk')
    expect(Object.keys(answer).toSorted()).toEqual(fields)
    expect([answer.organic_results, answer.clusters, answer.entities]).toEqual([[], [], []])
    expect(answer.related_searches).toEqual([])
  })

  test('19: positions start at 1 and rise by 1', async () => {
    for (const key of [live, mock]) {
      const { organic_results } = await found(`${grid}&num=30`, key)
      expect(organic_results.map(({ position }) => position)).toEqual(
        organic_results.map((_, index) => index + 1),
      )
    }
  })

  test('a search for ten returns the first ten results of a search for thirty', async () => {
    for (const key of [live, mock]) {
      const [ten, thirty] = [await found(grid, key), await found(`${grid}&num=30`, key)]
      expect(thirty.organic_results).toHaveLength(30)
      expect(ten.organic_results).toEqual(thirty.organic_results.slice(0, 10))
    }
  })

  test('20: every result has a title', async () => {
    for (const { title } of (await found(`${grid}&num=100`)).organic_results)
      expect(title).toMatch(/\S/)
  })

  test('21: every address is an absolute web address, and none is repeated', async () => {
    const { organic_results } = await found(`${grid}&num=100`)
    const urls = organic_results.map(({ url }) => url)
    expect(urls.filter((url) => !/^https?:$/.test(new URL(url).protocol))).toEqual([])
    expect(new Set(urls).size).toBe(urls.length)
  })

  test('22: snippets are plain text', async () => {
    const { organic_results } = await found(`${grid}&num=50`)
    for (const { snippet } of organic_results) expect(snippet).not.toMatch(/<\/?(b|code|em|a)\b/)
    expect(organic_results.some(({ snippet }) => snippet.length > 40)).toBe(true)
  })

  test('23: domain is the host name of the address', async () => {
    for (const key of [live, mock]) {
      for (const { url, domain } of (await found(`${grid}&num=40`, key)).organic_results) {
        expect(domain).toBe(new URL(url).hostname)
      }
    }
  })

  test('24: an error has success false, code, message and documentation, and nothing else', async () => {
    const { json } = await shop.ask('/v1/search', live)
    expect(json).toEqual({
      success: false,
      error: {
        code: 'BAD_REQUEST',
        message: expect.stringContaining('q '),
        documentation: expect.stringMatching(/^http/),
      },
    })
  })

  test('25: every documentation link resolves', async () => {
    for (const path of [grid, '/v1/search?q=', '/nowhere']) {
      const { json } = await shop.ask(path, path === grid ? null : live)
      const page = await fetch(json.error?.documentation ?? '')
      expect([page.status, page.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching(/html/),
      ])
    }
  })

  test('26: an answer to an unchanged query has no field that the specification does not show', async () => {
    expect(Object.keys(await found()).toSorted()).toEqual(fields)
    const [first] = (await found()).organic_results
    expect(Object.keys(first ?? {}).toSorted()).toEqual([
      'domain',
      'position',
      'snippet',
      'title',
      'url',
    ])
  })
})

describe('states (section 3)', () => {
  test('27: a revoked key turns from 200 to 403 at once and never back', async () => {
    const { key } = await shop.service.keys.create({ kind: 'live', credits: 5 })
    expect((await shop.ask(grid, key)).status).toBe(200)
    expect(await shop.service.keys.revoke(key)).toBe(true)
    expect((await shop.ask(grid, key)).status).toBe(403)
    await shop.service.keys.revoke(key)
    expect((await shop.ask(grid, key)).status).toBe(403)
  })
})

describe('the search endpoint (section 4)', () => {
  test('28: GET responds without a request body', async () => {
    expect((await shop.ask(grid, live)).status).toBe(200)
  })

  test('29: parameters come from the query string only, a body is ignored', async () => {
    const { status, json } = await shop.ask('/v1/search?q=webp&num=2', mock, {
      body: '{"q":"other","num":50}',
      headers: { 'content-type': 'application/json', 'content-length': '22' },
    })
    expect([status, json.query, json.organic_results?.length]).toEqual([200, 'webp', 2])
  })

  test('30: a missing or blank q is a 400 that charges nothing', async () => {
    const key = await shop.live(5)
    for (const params of ['', '?q=', '?q=%20%09', '?q=%00%01%7f', '?q=%e2%80%8b%c2%ad', '?num=3']) {
      const { status, json } = await shop.ask(`/v1/search${params}`, key)
      expect([status, json.error?.code]).toEqual([400, 'BAD_REQUEST'])
    }
    expect((await found(grid, key)).credits_remaining).toBe(4)
  })

  test('31: a location is accepted, an unknown place is not an error', async () => {
    for (const place of ['Austin, Texas, United States', 'Nowhere at all', '']) {
      expect((await shop.ask(`${grid}&location=${encodeURIComponent(place)}`, live)).status).toBe(
        200,
      )
    }
  })

  test('32: hl is accepted, a malformed one is a 400', async () => {
    for (const hl of ['en', 'pt-BR', 'zh-Hans'])
      expect((await shop.ask(`${grid}&hl=${hl}`, live)).status).toBe(200)
    for (const hl of ['', 'e', 'english!', '12'])
      expect((await shop.ask(`${grid}&hl=${hl}`, live)).status).toBe(400)
  })

  test('33: gl is accepted in either case, a malformed one is a 400', async () => {
    for (const gl of ['us', 'DE'])
      expect((await shop.ask(`${grid}&gl=${gl}`, live)).status).toBe(200)
    for (const gl of ['', 'usa', 'u1'])
      expect((await shop.ask(`${grid}&gl=${gl}`, live)).status).toBe(400)
  })

  test('34: num is accepted from 1 to 100, and limits the results', async () => {
    for (const key of [live, mock]) {
      expect((await found(`/v1/search?q=css&num=1`, key)).organic_results).toHaveLength(1)
      expect((await found(`/v1/search?q=css&num=100`, key)).organic_results).toHaveLength(100)
    }
  })

  test('35: num outside of 1 to 100, or not a whole number, is a 400', async () => {
    for (const num of ['0', '101', '-1', '1.5', 'abc', '', '1e9', 'Infinity', '0x10', ' ']) {
      const { status, json } = await shop.ask(`${grid}&num=${encodeURIComponent(num)}`, live)
      expect([num, status]).toEqual([num, 400])
      expect(json.error?.message).toBe('num must be a whole number from 1 to 100')
    }
  })

  test('36: the three devices are accepted', async () => {
    for (const device of ['desktop', 'mobile', 'tablet']) {
      expect((await shop.ask(`${grid}&device=${device}`, live)).status).toBe(200)
    }
  })

  test('37: any other device is a 400', async () => {
    for (const device of ['', 'watch', 'Desktop']) {
      const { status, json } = await shop.ask(`${grid}&device=${device}`, live)
      expect([status, json.error?.message]).toEqual([
        400,
        'device must be one of desktop, mobile, tablet',
      ])
    }
  })

  test('38: a JSON content type on the request changes nothing', async () => {
    const headers = { 'content-type': 'application/json' }
    expect((await shop.ask(grid, mock, { headers })).json).toEqual(
      (await shop.ask(grid, mock)).json,
    )
  })

  test('39: the defaults are num 10 and no place, language or device that would change the answer', async () => {
    const plain = await found()
    expect(plain.organic_results).toHaveLength(10)
    const explicit = await found(`${grid}&num=10&hl=en&device=desktop`)
    expect(explicit.organic_results).toEqual(plain.organic_results)
  })

  test('40: an answer is JSON in UTF-8', async () => {
    const { headers, body } = await shop.ask('/v1/search?q=%E2%9C%93', mock)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(String(body)).toContain('"query":"✓"')
  })
})

describe('the description of the API', () => {
  test('is OpenAPI 3.1, contains every parameter and status, and marks what the specification leaves open', async () => {
    const document = (await shop.ask('/openapi.json')).json as unknown as Description
    expect(document.openapi).toBe('3.1.0')
    const { parameters, responses } = document.paths['/v1/search'].get
    const inQuery = parameters.filter((parameter) => parameter.in === 'query')
    expect(inQuery.map(({ name }) => name).join(' ')).toBe('q location hl gl num device api_key')
    const open = Object.entries(responses).filter(([, { description }]) =>
      description.startsWith('Not in the specification'),
    )
    expect(open.map(([status]) => status)).toEqual([
      '400',
      '402',
      '404',
      '405',
      '408',
      '409',
      '413',
      '414',
      '417',
      '422',
      '429',
      '431',
      '500',
      '502',
      '503',
      '504',
    ])
    expect(responses['429']?.description).toMatch(/second.*searches are ahead.*credits/)
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '401', '403']))
    expect(document.components.schemas['SearchResponse']?.required?.toSorted()).toEqual(fields)
  })
})

interface Description {
  readonly openapi: string
  readonly paths: {
    readonly '/v1/search': {
      readonly get: {
        readonly parameters: readonly { readonly name: string; readonly in: string }[]
        readonly responses: Readonly<Record<string, { readonly description: string }>>
      }
    }
  }
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly required?: string[] }>>
  }
}
