import { describe, expect, test } from 'vitest'
import type { Answer } from '../../../src/base/answer.ts'
import { idBytes, pageIdBytes } from '../../../src/base/query.ts'
import { readAnswer } from '../../../src/core/search/parse.ts'

function read(body: unknown, truncated = false): Answer {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return readAnswer(bytes, truncated, 'red shoes').answer
}

const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`

describe('a body that is not an answer', () => {
  test.each([
    ['', 'an empty body'],
    ['<html></html>', 'expected JSON, got 13 bytes that are not JSON'],
    ['null', 'got null'],
    ['[]', 'got a list'],
    ['"x"', 'got a string'],
    ['7', 'got a number'],
    [nested(65), 'at most 64 levels'],
    [nested(100_000), 'at most 64 levels'],
    ['{"a":1e400}', 'got a larger number'],
    [Buffer.from([0xff, 0xfe, 0x7b, 0x00]), 'expected JSON'],
  ])('%.20s is stored with the reason and without rows', (body, reason) => {
    const answer = read(body)
    expect(answer.parseError).toContain(reason)
    expect(answer).toMatchObject({ results: [], entities: [], extra: null, asGiven: null })
  })

  test('because it was truncated says so, without quoting it', () => {
    expect(read('{"secret": "abc', true).parseError).toBe(
      'expected a complete body, got only the first 15 bytes',
    )
  })
})

describe('an answer', () => {
  test('that is empty has no rows and says what was missing', () => {
    expect(read('{}')).toEqual({
      ...read(''),
      parseError: null,
      asGiven: {
        missing: [
          'success',
          'query',
          'clusters',
          'entities',
          'organic_results',
          'related_searches',
        ],
      },
    })
  })

  test('with the maximum nesting is read, without its byte order mark', () => {
    expect(read(nested(64)).parseError).toBeNull()
    expect(read('\ufeff{"intent":"x"}')).toMatchObject({ parseError: null, intent: 'x' })
  })

  test('keeps fields that the specification does not name, __proto__ among them', () => {
    const answer = read('{"ads":[1],"__proto__":{"x":1},"organic_results":[{"__proto__":2}]}')
    expect(JSON.stringify(answer.extra)).toBe('{"ads":[1],"__proto__":{"x":1}}')
    expect(JSON.stringify(answer.results[0]?.item.extra)).toBe('{"__proto__":2}')
    expect(({} as Record<string, unknown>)['x']).toBeUndefined()
  })

  test('keeps an echo of the query only if it differs from the sent one', () => {
    expect(read({ query: 'red shoes' }).asGiven).not.toHaveProperty('query')
    expect(read({ query: 'RED shoes' }).asGiven).toHaveProperty('query', 'RED shoes')
  })

  test('counts each character that Postgres cannot store and replaces it by U+FFFD', () => {
    const answer = read(String.raw`{"intent":"a\u0000b\ud800c","x\udc00":"\ud83d\ude00"}`)
    expect(answer).toMatchObject({
      intent: 'a\ufffdb\ufffdc',
      replaced: 3,
      extra: { 'x\ufffd': '😀' },
    })
  })

  test('keeps two fields distinct whose names differ only in such a character', () => {
    const answer = read(String.raw`{"a\u0000":1,"a\ud800":2,"a\ufffd":3}`)
    expect(new Set(Object.values(answer.extra ?? {}))).toEqual(new Set([1, 2, 3]))
  })
})

describe('results', () => {
  const results = (...given: unknown[]) => read({ organic_results: given }).results

  test.each([
    [1, 1],
    [0, 0],
    [-2, -2],
    [3e9, 3e9],
    ['3', 3],
    [1.5, null],
    ['1.5', null],
    ['first', null],
    [null, null],
    [1e20, null],
  ])('with position %j have position %j', (position, expected) => {
    expect(results({ position })[0]?.item.position).toBe(expected)
  })

  test('keep their index if one of them is not a result, and the original list is kept', () => {
    const given = [{ title: 'a' }, null, 'x', { title: 'b' }]
    const answer = read({ organic_results: given })
    expect(answer.results.map(({ ordinal, item }) => [ordinal, item.title])).toEqual([
      [1, 'a'],
      [4, 'b'],
    ])
    expect(answer.asGiven).toHaveProperty('organic_results', given)
  })

  test('with a field of the wrong type lose only that field', () => {
    const [result] = results({ title: 7, url: ['x'], snippet: 'kept', domain: false })
    expect(result?.item).toMatchObject({
      title: null,
      page: null,
      domain: null,
      snippet: 'kept',
      asGiven: { title: 7, url: ['x'], domain: false },
    })
  })

  test('name their own host, whatever the address is', () => {
    const [odd, silent] = results(
      { url: 'https://a.example.com/x', domain: 'b.example.org' },
      { url: 'https://a.example.com/x' },
    )
    expect(odd?.item.domain?.host).toBe('b.example.org')
    expect(odd?.item.page?.domain?.host).toBe('a.example.com')
    expect(silent?.item.domain?.host).toBe('a.example.com')
    expect(silent?.item.asGiven).toEqual({ missing: ['domain'] })
  })

  test('count for one domain in either spelling of its name, and keep the original', () => {
    const found = results(
      { url: 'https://bücher.de/x', domain: 'Bücher.de' },
      { url: 'https://bücher.de/x', domain: 'xn--bcher-kva.de' },
      { domain: 'bücher.de' },
    )
    const ids = new Set(found.map(({ item }) => item.domain?.id))
    expect(ids).toEqual(new Set([found[0]?.item.page?.domain?.id]))
    expect(found.map(({ item }) => item.domain?.host)).toEqual(found.map(() => 'xn--bcher-kva.de'))
    expect(found.map(({ item }) => item.asGiven)).toEqual([
      { domain: 'Bücher.de' },
      null,
      { domain: 'bücher.de' },
    ])
  })

  test.each(['1.2', 'א1ü.de', 'ü.de/x', 'ü de', 'EXAMPLE.com', '\u00ad', 'ü'.repeat(254)])(
    'keep a domain that is not a host as received: %s',
    (domain) => {
      const [result] = results({ domain })
      expect(result?.item.domain?.host).toBe(domain)
      expect(result?.item.asGiven).toBeNull()
    },
  )

  test('extend to the greatest position', () => {
    expect(read({ organic_results: [{ position: 2 }, { position: '9' }, {}] }).depth).toBe(9)
    expect(read({ organic_results: [{}] }).depth).toBeNull()
  })
})

describe('items that answers name', () => {
  test('have ids that depend only on their content', () => {
    const answer = read({
      clusters: ['c'],
      related_searches: ['r'],
      entities: [{ name: 'n', type: 't' }],
      organic_results: [{ url: 'https://example.com/' }],
    })
    expect(answer.clusters[0]?.item.id).toBe(idBytes('cluster', 'c'))
    expect(answer.related[0]?.item.id).toBe(idBytes('related_search', 'r'))
    expect(answer.entities[0]?.item.id).toBe(idBytes('entity', 'n', 't'))
    expect(answer.results[0]?.item.page?.id).toBe(
      pageIdBytes('https://example.com/', 'example.com'),
    )
    expect(answer.results[0]?.item.domain?.id).toBe(idBytes('domain', 'example.com'))
  })

  test('include pages with ids that begin the same for all spellings of an address, and differ otherwise', () => {
    const urls = ['https://a.example/x', 'http://a.example/x/?utm_source=n', 'https://a.example/y']
    const answer = read({ organic_results: urls.map((url) => ({ url })) })
    const ids = answer.results.map(({ item }) => item.page?.id ?? '')
    expect(new Set(ids).size).toBe(3)
    expect(ids.map((id) => id.slice(0, 4) === ids[0]?.slice(0, 4))).toEqual([true, true, false])
  })

  test('are distinguished by type, including no type', () => {
    const { entities } = read({
      entities: [
        { name: 'Paris', type: 'city' },
        { name: 'Paris', type: 'person' },
        { name: 'Paris' },
      ],
    })
    expect(new Set(entities.map(({ item }) => item.id)).size).toBe(3)
  })

  test('cannot be confused by the separator of their ids', () => {
    const { entities, asGiven } = read({
      entities: [{ name: 'a\u001fb' }, { name: 'a', type: 'b' }],
    })
    expect(entities.map(({ ordinal }) => ordinal)).toEqual([2])
    expect(asGiven).toHaveProperty('entities')
  })
})
