// @module-tag slow
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { fakeResult, startFakeSearxng, type FakeSearxng } from './metasearch.ts'
import { openShop, type Shop } from '../shop.ts'

let upstream: FakeSearxng
let shop: Shop
let key: string
let log = ''

beforeAll(async () => {
  upstream = await startFakeSearxng()
  const sink = new Writable({
    write(chunk, _encoding, done) {
      log += String(chunk)
      done()
    },
  })
  shop = await openShop({ upstream: 'searxng', searxngUrl: upstream.url, log: pino(sink) })
})
afterAll(async () => {
  await shop.service.close()
  await upstream.close()
})
beforeEach(async () => {
  key = await shop.live(100)
  upstream.asked.length = 0
})

const ten = Array.from({ length: 10 }, (_, index) => fakeResult(index + 1))

describe('a healthy upstream', () => {
  test('gives its pages our positions, host names and price', async () => {
    upstream.behave(() => ({ results: ten }))
    const { status, json } = await shop.ask('/v1/search?q=garden', key)
    expect(status).toBe(200)
    expect(json.organic_results?.map(({ position }) => position)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ])
    expect(json.organic_results?.[0]).toEqual({
      position: 1,
      title: 'Result 1',
      url: 'https://site.example/1',
      snippet: 'What page 1 says about gardens.',
      domain: 'site.example',
    })
    expect([json.credits_used, json.credits_remaining]).toEqual([1, 99])
  })

  test('is queried page by page, in order, until there are enough', async () => {
    upstream.behave((params) => {
      const page = Number(params.get('pageno'))
      return { results: Array.from({ length: 10 }, (_, index) => fakeResult(page * 10 + index)) }
    })
    const { json } = await shop.ask('/v1/search?q=garden&num=25', key)
    expect(json.organic_results).toHaveLength(25)
    expect(upstream.asked.flatMap(({ pageno }) => pageno ?? [])).toEqual(['1', '2', '3'])
    expect(json.organic_results?.at(-1)?.position).toBe(25)
    expect(json.credits_used).toBe(3)
  })

  test('is not queried again once a page adds nothing new, and missing results are not charged', async () => {
    upstream.behave(() => ({ results: ten }))
    const { json } = await shop.ask('/v1/search?q=garden&num=100', key)
    expect(upstream.asked.filter(({ pageno }) => pageno !== undefined)).toHaveLength(2)
    expect([json.organic_results?.length, json.credits_used]).toEqual([10, 1])
  })

  test('may name one page in several ways: it is shown once', async () => {
    upstream.behave(() => ({
      results: [
        { url: 'https://a.example/x?utm_source=mail#top', title: 'First' },
        { url: 'http://a.example/x', title: 'Second' },
        { url: 'https://a.example/x?id=2', title: 'Another page' },
      ],
    }))
    const { json } = await shop.ask('/v1/search?q=garden', key)
    expect(json.organic_results?.map(({ title }) => title)).toEqual(['First', 'Another page'])
  })

  test('may send results that are not pages, without titles or with markup', async () => {
    upstream.behave(() => ({
      results: [
        { url: null, title: 'A map' },
        { url: 'magnet:?xt=1', title: 'A file' },
        { url: 'https://münchen.example/straße', title: '', content: null },
        { url: 'https://b.example/', title: ' <b>Bold</b>\n title ', content: 'a <em>b</em>  c' },
      ],
    }))
    const { json } = await shop.ask('/v1/search?q=garden', key)
    expect(json.organic_results).toEqual([
      {
        position: 1,
        title: 'xn--mnchen-3ya.example',
        url: 'https://xn--mnchen-3ya.example/stra%C3%9Fe',
        snippet: '',
        domain: 'xn--mnchen-3ya.example',
      },
      {
        position: 2,
        title: 'Bold title',
        url: 'https://b.example/',
        snippet: 'a b c',
        domain: 'b.example',
      },
    ])
  })

  test('may send one malformed result, suggestion or box: the others are used', async () => {
    upstream.behave(() => ({
      results: [...ten.slice(0, 4), { url: 7, title: ['x'] }, 'no result', null, ...ten.slice(4)],
      suggestions: ['garden tools', 7, null, 'garden chairs'],
      infoboxes: [{ infobox: null }, { infobox: 'Garden', attributes: 'none' }],
    }))
    const { status, json } = await shop.ask('/v1/search?q=garden', key)
    expect(status).toBe(200)
    expect(json.organic_results?.map(({ title }) => title)).toEqual(
      ten.map((_, index) => `Result ${index + 1}`),
    )
    expect(json.related_searches).toEqual(expect.arrayContaining(['garden tools', 'garden chairs']))
  })

  test('may send nested markup and escaped signs: snippets are plain text', async () => {
    const content =
      '<p>Beds <b>and <i>soil</i></b> &amp; <a href="/x">seeds</a>:<br/>it&#39;s &quot;dry&quot;&nbsp;now, see &lt;dialog&gt; and the <em> element</p>'
    upstream.behave(() => ({
      results: [{ url: 'https://a.example/', title: 'A &amp; B', content }],
    }))
    const { json } = await shop.ask('/v1/search?q=garden', key)
    expect(json.organic_results?.[0]).toMatchObject({
      title: 'A & B',
      snippet: 'Beds and soil & seeds: it\'s "dry" now, see <dialog> and the <em> element',
    })
  })

  test('sends corrections and suggestions, which become related searches in a fixed order', async () => {
    upstream.behave(() => ({
      results: ten,
      corrections: ['gardening'],
      suggestions: ['garden tools', 'garden chairs', 'garden', 'garden beds'],
    }))
    const { json } = await shop.ask('/v1/search?q=garden', key)
    expect(json.related_searches?.slice(0, 4)).toEqual([
      'gardening',
      'garden beds',
      'garden chairs',
      'garden tools',
    ])
  })

  test('names entities in boxes, whose properties show their type', async () => {
    const box = (infobox: string, ...properties: string[]) => ({
      infobox,
      content: '',
      attributes: properties.map((entity) => ({ label: 'x', value: 'y', entity })),
    })
    upstream.behave(() => ({
      results: ten,
      infoboxes: [
        box('Ada Lovelace', 'P569'),
        box('Paris', 'P1082'),
        box('Acme', 'P159'),
        box('Game', 'P400'),
        box('Novel', 'P50'),
        { infobox: 'Garden' },
      ],
    }))
    const { json } = await shop.ask('/v1/search?q=zz', key)
    expect(json.entities?.map(({ name, type }) => `${name}: ${type}`)).toEqual([
      'Ada Lovelace: Person',
      'Paris: Place',
      'Acme: Organization',
      'Game: Product',
      'Novel: CreativeWork',
      'Garden: Thing',
    ])
  })
})

describe('our parameters', () => {
  const cases = [
    ['', undefined, null],
    ['&hl=fr', 'fr', null],
    ['&hl=pt-BR', 'pt-BR', null],
    ['&hl=zh-Hant-TW', 'zh-TW', null],
    ['&hl=en-GB', 'en-GB', null],
    ['&hl=en-GB&gl=in', 'en-IN', null],
    ['&hl=en&gl=de', 'en-DE', null],
    ['&gl=jp', 'ja-JP', null],
    ['&gl=br', 'pt-BR', null],
    ['&location=Lyon,%20France', undefined, 'location'],
    ['&location=Lyon,%20France&gl=us', 'en-US', 'location'],
    ['&device=mobile', undefined, 'device'],
  ] as const
  test.each(cases)(
    '%s becomes language %s, and %s is named as ignored',
    async (params, language, ignored) => {
      upstream.behave(() => ({ results: ten, suggestions: ['a', 'b', 'c', 'd'] }))
      const { status, headers } = await shop.ask(`/v1/search?q=garden${params}`, key)
      expect(status).toBe(200)
      expect(upstream.asked[0]?.['language']).toBe(language)
      expect(headers['x-ignored-params'] ?? null).toBe(ignored)
    },
  )

  test('words that SearXNG would interpret are searched for instead', async () => {
    upstream.behave(() => ({ results: ten }))
    const { json } = await shop.ask(
      `/v1/search?q=${encodeURIComponent('!!ddg :fr !images tea!')}`,
      key,
    )
    expect(upstream.asked[0]?.['q']).toBe('ddg fr images tea!')
    expect(json.query).toBe('!!ddg :fr !images tea!')
  })

  test.each([
    ['<100 euro gifts', '100 euro gifts'],
    ['gifts <100', 'gifts 100'],
    ['gifts !<100 <:fr', 'gifts 100 fr'],
    ['a < b <dialog> <100€', 'a < b <dialog> <100€'],
  ])('of %j is sent as %j: a number is not a time limit of the search', async (q, sent) => {
    upstream.behave(() => ({ results: ten }))
    await shop.ask(`/v1/search?q=${encodeURIComponent(q)}`, key)
    expect(upstream.asked.map(({ q: asked }) => asked)).toEqual(upstream.asked.map(() => sent))
    expect(upstream.asked).not.toEqual([])
  })
})

describe('text of the web', () => {
  test('keeps text in angle brackets, and removes the marks around matches', async () => {
    upstream.behave(() => ({
      results: [
        {
          url: 'https://a.example/',
          title: 'The <dialog> element',
          content: 'How <b>dialog</b> and <details> differ, if a < b > c',
        },
      ],
    }))
    const { json } = await shop.ask('/v1/search?q=dialog', key)
    expect(json.organic_results?.[0]).toMatchObject({
      title: 'The <dialog> element',
      snippet: 'How dialog and <details> differ, if a < b > c',
    })
  })

  test('of nothing but brackets takes no extra time', async () => {
    const content = '<b '.repeat(50_000)
    upstream.behave(() => ({
      results: [{ url: 'https://a.example/', title: '<'.repeat(50_000), content }],
    }))
    const start = performance.now()
    expect((await shop.ask('/v1/search?q=brackets', key)).status).toBe(200)
    expect(performance.now() - start).toBeLessThan(2000)
  })
})

describe('an upstream in trouble', () => {
  test('with a Retry-After is respected', async () => {
    upstream.behave(() => ({ status: 429, body: 'slow down', headers: { 'retry-after': '17' } }))
    const { status, headers } = await shop.ask('/v1/search?q=garden', key)
    expect([status, headers['retry-after']]).toEqual([503, '17'])
  })

  test('is logged', async () => {
    upstream.behave(() => ({ status: 403, body: 'no' }))
    const before = log.length
    await shop.ask('/v1/search?q=garden', key)
    expect(log.slice(before)).toContain('"status":403')
    upstream.behave(() => ({ results: ten, unresponsive_engines: [['brave', 'CAPTCHA']] }))
    await shop.ask('/v1/search?q=garden', key)
    expect(log.slice(before)).toContain('CAPTCHA')
  })

  test('with an endless response is a 502', async () => {
    upstream.behave(() => ({ status: 200, body: `["${'x'.repeat(5_000_000)}"]` }))
    expect((await shop.ask('/v1/search?q=garden', key)).status).toBe(502)
  })

  test('that is slow gives each of eight expensive searches the results received in time', async () => {
    const slow = await startFakeSearxng(60)
    slow.behave((params) => {
      const page = Number(params.get('pageno'))
      return { results: Array.from({ length: 10 }, (_, index) => fakeResult(page * 10 + index)) }
    })
    const lone = await openShop({ upstream: 'searxng', searxngUrl: slow.url, upstreamMs: 900 })
    const own = await lone.live(1000)
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) => lone.ask(`/v1/search?q=g${index}&num=100`, own)),
    )
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    expect(replies.some(({ headers }) => headers['x-upstream-partial'] === 'true')).toBe(true)
    expect(replies.every(({ json }) => (json.organic_results?.length ?? 0) >= 10)).toBe(true)
    await lone.service.close()
    await slow.close()
  })

  const engines: [string, string][] = [
    ['brave', 'Suspended: too many requests'],
    ['duckduckgo', 'CAPTCHA'],
  ]

  test('that lost some engines answers, marked as partial', async () => {
    upstream.behave(() => ({ results: ten, unresponsive_engines: engines }))
    const { status, headers } = await shop.ask('/v1/search?q=garden', key)
    expect([status, headers['x-upstream-partial']]).toEqual([200, 'true'])
  })

  test('that lost all engines is a 503, not an empty answer, and costs nothing', async () => {
    upstream.behave(() => ({ results: [], unresponsive_engines: engines }))
    const { status, headers, json } = await shop.ask('/v1/search?q=garden', key)
    expect([status, json.error?.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
    expect(headers['retry-after']).toBe('60')
    upstream.behave(() => ({ results: ten }))
    expect((await shop.ask('/v1/search?q=garden', key)).json.credits_remaining).toBe(99)
  })

  test('that has healthy engines and no result is an empty answer, and costs one credit', async () => {
    upstream.behave(() => ({ results: [] }))
    const { status, json } = await shop.ask('/v1/search?q=garden', key)
    expect([status, json.organic_results, json.credits_used]).toEqual([200, [], 1])
  })

  test('that fails on a later page gives the results so far, marked as partial', async () => {
    upstream.behave((params) =>
      params.get('pageno') === '2' ? { status: 429, body: 'Too Many Requests' } : { results: ten },
    )
    const { status, headers, json } = await shop.ask('/v1/search?q=garden&num=30', key)
    expect([status, json.organic_results?.length]).toEqual([200, 10])
    expect(headers['x-upstream-partial']).toBe('true')
  })

  const refusals = [
    [
      'JSON switched off',
      { status: 403, body: '<!doctype html><title>403 Forbidden</title>' },
      503,
    ],
    ['a limiter', { status: 429, body: 'Too Many Requests' }, 503],
    ['a crash', { status: 500, body: '<h1>Internal Server Error</h1>' }, 503],
    ['a redirect', { status: 302, body: '', headers: { location: 'http://127.0.0.1:1/' } }, 503],
    ['HTML with 200', { status: 200, body: '<html></html>' }, 502],
    ['nothing with 200', { status: 200, body: '' }, 502],
    ['another shape', { status: 200, body: '{"results":"none"}' }, 502],
    ['a list', { status: 200, body: '[]' }, 502],
  ] as const
  test.each(refusals)('%s is never an answer, and costs nothing', async (_name, raw, expected) => {
    upstream.behave(() => raw)
    const { status, json } = await shop.ask('/v1/search?q=garden', key)
    expect([status, json.success]).toEqual([expected, false])
    const [usage] = (await shop.service.keys.usage()).toReversed()
    expect(usage).toMatchObject({ failures: 1, credits: 0 })
  })

  test('that is down is a 503, and costs nothing', async () => {
    const lone = await openShop({ upstream: 'searxng', searxngUrl: new URL('http://127.0.0.1:9') })
    const own = await lone.live(5)
    expect((await lone.ask('/v1/search?q=a', own)).status).toBe(503)
    expect((await lone.service.keys.list())[0]?.credits).toBe(5)
    await lone.service.close()
  })

  test('never gets more than two requests at once', async () => {
    upstream.behave(() => ({ results: ten, suggestions: ['a', 'b', 'c', 'd'] }))
    await Promise.all(Array.from({ length: 12 }, () => shop.ask('/v1/search?q=garden', key)))
    expect(upstream.busiest()).toBeLessThanOrEqual(2)
  })

  test('without an address is refused at the start', async () => {
    await expect(openShop({ upstream: 'searxng' })).rejects.toThrow('SEARXNG_URL')
  })
})
