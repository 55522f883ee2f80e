import { describe, expect, test } from 'vitest'
import { readDefaults } from '../../../src/core/lists/options.ts'
import { stripMatchType } from '../../../src/core/lists/values.ts'
import { checkRequest } from '../../../src/service/listen.ts'
import { searchParams } from '../../../src/service/schemas.ts'
import { read } from './support.ts'

describe('values of a row', () => {
  test.each([
    ['q,num', 'a,0', 'num is not a whole number from 1 to 100'],
    ['q,num', 'a,101', 'num is not a whole number from 1 to 100'],
    ['q,num', 'a,abc', 'num is not a whole number from 1 to 100'],
    ['q,device', 'a,tv\nfine,mobile', 'device is not one of desktop, mobile, tablet'],
    ['q,priority', 'a,10\nfine,2', 'priority is not a whole number from 1 to 9'],
    ['q,weight', 'a,heavy\nfine,2', 'weight is negative or not a number'],
    ['q,hl', 'a,English', 'hl is not a language code such as "de" or "pt-BR"'],
    ['q,hl', 'a,pt_BR', 'hl is not a language code such as "de" or "pt-BR"'],
    ['q,gl', 'a,United States', 'gl is not a two-letter country code such as "us"'],
    ['q,gl', 'a,usa', 'gl is not a two-letter country code such as "us"'],
    ['q,gl', ' \u200b ,us', 'no query'],
    ['q,gl', `${'x'.repeat(2049)},us`, 'query longer than 2048 characters'],
    ['q,gl', '=1+1,us', 'a formula instead of a query'],
    ['q,gl', 'a\u0000b,us', 'a control character in the query'],
    ['q,gl', 'a', '1 cell, but the header has 2'],
    ['q,gl', 'a,us,more', '3 cells, but the header has 2'],
    ['q,gl', '"a" b,us', 'a stray quote'],
  ])(
    'that cannot be bought: under %s, %j is rejected with line and reason',
    async (header, row, reason) => {
      const { texts, rejected } = await read(
        `${header}\n${row}\nfine,10\n`.replace(
          'fine,10',
          header.endsWith('num') ? 'fine,10' : 'fine,',
        ),
      )
      expect(new Set(texts)).toEqual(new Set(['fine']))
      expect(rejected).toMatchObject([{ line: 2, reason }])
      expect(rejected[0]?.content).not.toContain('\u0000')
    },
  )

  const place = '網'.repeat(200)
  test.each([
    ['of 2048 signs of ASCII that an address spells with three', '%'.repeat(2048), true],
    ['of 1555 characters of Chinese', '網'.repeat(1555), true],
    ['of 1556 characters of Chinese', '網'.repeat(1556), false],
    ['of 2048 characters of Chinese', '網'.repeat(2048), false],
    ['of 1024 pictures, which are 2048 characters', '👟'.repeat(1024), true],
  ])(
    '%s: a query goes in exactly when it can be sent with the longest place',
    async (_, q, sent) => {
      const { queries, rejected } = await read(`q,location\n${q},${place}\n`)
      expect(queries).toHaveLength(sent ? 1 : 0)
      expect(rejected.map(({ reason }) => reason)).toEqual(
        sent ? [] : ['query longer than 14000 characters when URL-encoded'],
      )
      for (const { query } of queries) {
        const sentTo = new URL('http://127.0.0.1:8787/v1/search')
        sentTo.search = String(new URLSearchParams({ q: query.q, location: place, num: '100' }))
        expect(sentTo.href.length).toBeLessThan(16_384)
        expect(() => checkRequest(new Request(sentTo))).not.toThrow()
      }
    },
  )

  test('that are absent differ from those that are given', async () => {
    const { queries } = await read('q,gl,device,num\na,,,\nb,us,Mobile,50\n')
    expect(queries.map(({ query }) => query)).toEqual([
      { q: 'a', location: null, hl: null, gl: null, num: 10, device: null },
      { q: 'b', location: null, hl: null, gl: 'us', num: 50, device: 'mobile' },
    ])
  })

  test('of the columns that say something about a query are kept with it', async () => {
    const { queries } = await read(
      'keyword,Tags,weight,priority,Target URL\na,"x, y|x","1,5",2,https://a.example/\n',
    )
    expect(queries[0]).toMatchObject({
      tags: ['x', 'y'],
      weight: 1.5,
      priority: 2,
      target: 'https://a.example/',
    })
  })

  test.each([
    ['https://example.de/größe', 'https://example.de/gr%C3%B6%C3%9Fe'],
    ['bücher.de/gut', 'xn--bcher-kva.de/gut'],
    ['HTTP://Example.de/a/../b c', 'http://example.de/b%20c'],
    ['example.de:8443/a', 'example.de:8443/a'],
    ['ftp://example.de/größe', 'ftp://example.de/größe'],
    ['https://no host/', 'https://no host/'],
  ])('such as the target address %s are kept as browsers write them', async (given, kept) => {
    const { queries } = await read(`keyword,target url\na,${given}\n`)
    expect(queries[0]?.target).toBe(kept)
  })

  test('multiply out where the header says so, and nowhere else', async () => {
    const { queries } = await read('q,devices,gl|\na,desktop|mobile,us|gb\n')
    expect(queries.map(({ query }) => `${query.gl} ${query.device}`)).toEqual([
      'us desktop',
      'us mobile',
      'gb desktop',
      'gb mobile',
    ])
    const single = await read('q,device\na,desktop|mobile\nb,mobile\n')
    expect(single.rejected).toMatchObject([{ line: 2 }])
  })

  test('of flags win over columns and multiply out', async () => {
    const defaults = readDefaults({
      device: 'desktop,mobile',
      country: 'us',
      place: ['Austin, Texas', 'Paris'],
      tags: 'spring',
    })
    const { queries } = await read('q,gl,tags\na,de,x\n', { defaults })
    expect(queries).toHaveLength(4)
    expect(queries[0]).toMatchObject({
      query: { gl: 'us', location: 'Austin, Texas' },
      tags: ['spring', 'x'],
    })
  })

  test('of flags that the API would refuse are refused at once', () => {
    expect(() => readDefaults({ num: '10,500' })).toThrow('--num')
    expect(() => readDefaults({ device: 'tv' })).toThrow('--device')
    expect(() => readDefaults({ place: [' '] })).toThrow('--place')
    expect(() => readDefaults({ country: 'us,usa' })).toThrow(
      'expected a valid value for --country, got "usa"; gl is not a two-letter country code',
    )
    expect(() => readDefaults({ language: 'pt_BR' })).toThrow('--language')
  })

  test.each([
    ...['us', 'US', 'gB', 'usa', 'u', 'u1', 'u-s'].map((gl) => ({ gl })),
    ...['de', 'DE', 'fil', 'pt-BR', 'pt-br', 'zh-CN', 'zh-Hant-TW', 'de-AT-1996-aa-bb'].map(
      (hl) => ({ hl }),
    ),
    ...['pt_BR', 'd', 'german', 'de-', 'de-D', 'de-123456789'].map((hl) => ({ hl })),
  ])('such as %o go in exactly when the bundled service takes them', async (given) => {
    const [name, value] = Object.entries(given)[0] ?? ['', '']
    const taken = searchParams.safeParse({ q: 'a', ...given }).success
    const { queries, rejected } = await read(`q,${name}\na,${value}\n`)
    expect(queries.map(({ query }) => query)).toMatchObject(taken ? [given] : [])
    expect(rejected).toHaveLength(taken ? 0 : 1)
  })
})

describe('match types', () => {
  test.each([
    ['"red shoes"', 'red shoes'],
    ['[red shoes]', 'red shoes'],
    [' +red +shoes', 'red shoes'],
    ['c++ compiler', 'c++ compiler'],
    ['red "shoes"', 'red "shoes"'],
  ])('of %s leave %s', (given, left) => {
    expect(stripMatchType(given)).toBe(left)
  })
})
