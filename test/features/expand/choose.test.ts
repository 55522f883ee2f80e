import { describe, expect, test } from 'vitest'
import type { Query } from '../../../src/base/query.ts'
import {
  choose,
  readFilter,
  scriptsOf,
  type SelectionRules,
  twinKey,
  writtenLike,
} from '../../../src/features/expand/choose.ts'
import type { RelatedQuery } from '../../../src/features/expand/statements.ts'

const plain = { location: null, hl: null, gl: null, num: 10, device: null }

function named(q: string, more: Partial<Query> = {}): RelatedQuery {
  return {
    ...plain,
    q,
    round: 1,
    from_query: '00000000-0000-0000-0000-000000000000',
    from_q: 'seed',
    sources: 1,
    weight: 1,
    ...more,
  }
}

async function chosen(candidates: readonly RelatedQuery[], choice: Partial<SelectionRules> = {}) {
  async function* pages() {
    for (const candidate of candidates) yield [candidate]
  }
  const { queries, ...rest } = await choose(pages(), {
    wanted: () => true,
    there: [],
    scripts: new Set(['Latin']),
    price: () => 1,
    credits: 100,
    ...choice,
  })
  return { taken: queries.map(({ q }) => q), ...rest }
}

const nothing = { unwanted: 0, twins: 0, other_script: 0, unusable: 0 }

describe('near duplicates', () => {
  test.each([
    ['css grid layout', 'layout grid css'],
    ['css grid', 'css grids'],
    ['CSS grid', 'css  Grid?'],
    ['css-grid', 'css grid'],
    ['search query', 'search queries'],
    ['use case', 'use cases'],
    ['box', 'boxes'],
    ['http cache', 'http caches'],
    ['rest api', 'rest apis'],
    ['classes in js', 'class in js'],
    ['node.js', 'Node.js.'],
  ])('are %s and %s', (one, other) => {
    expect(twinKey(one)).toBe(twinKey(other))
  })

  test.each([
    ['c++ vectors', 'c vectors'],
    ['c# string', 'c string'],
    ['node.js', 'node js'],
    ['css grid', 'css grid layout'],
    ['html5', 'html'],
    ['plan tickets', 'plane tickets'],
  ])('are not %s and %s', (one, other) => {
    expect(twinKey(one)).not.toBe(twinKey(other))
  })
})

describe('the selection', () => {
  test('has the most promising ones as long as credits suffice', async () => {
    const candidates = ['a', 'b', 'c', 'd'].map((q) => named(q))
    const found = await chosen(candidates, { price: () => 2.5, credits: 8 })
    expect(found).toEqual({ taken: ['a', 'b', 'c'], leftOut: nothing, looked: 3, short: true })
  })

  test('has no near duplicate of existing or selected ones', async () => {
    const there = [{ ...plain, q: 'css grid' }]
    const found = await chosen([named('grid css'), named('flex box'), named('box flex')], { there })
    expect(found).toMatchObject({ taken: ['flex box'], leftOut: { ...nothing, twins: 2 } })
  })

  test('may have the same text for another device, language or place', async () => {
    const there = [{ ...plain, q: 'css grid', device: 'mobile' as const }]
    const texts = [
      named('css grids', { device: 'desktop' }),
      named('css grids', { device: 'mobile' }),
      named('css grids', { device: 'mobile', gl: 'de' }),
      named('css grids', { device: 'mobile', num: 50 }),
    ]
    const found = await chosen(texts, { there })
    expect(found).toMatchObject({
      taken: ['css grids', 'css grids'],
      leftOut: { ...nothing, twins: 2 },
    })
  })

  test('has only texts that can be sent as a query', async () => {
    const found = await chosen([named('x'.repeat(3000)), named('bell\u0007'), named('fine')])
    expect(found).toMatchObject({ taken: ['fine'], leftOut: { ...nothing, unusable: 2 } })
  })

  test('has only texts in the script of the list', async () => {
    const scripts = scriptsOf(['купить телефон'])
    const texts = ['купить iphone', 'iphone', 'buy phone', '電話', '2024'].map((q) => named(q))
    const found = await chosen(texts, { scripts })
    expect(found).toMatchObject({
      taken: ['купить iphone', '2024'],
      leftOut: { ...nothing, other_script: 3 },
    })
  })
})

describe('the script of a list', () => {
  test('is every script that its queries use', () => {
    const list = scriptsOf(['東京', 'шины', 'tyres'])
    const texts = ['ホテル', 'зимние шины', 'winter', 'ελλάδα', '서울', 'עברית', 'ไทย']
    expect(texts.filter((text) => writtenLike(text, list))).toEqual([
      'ホテル',
      'зимние шины',
      'winter',
    ])
  })
})

describe('a filter', () => {
  const texts = [
    'css grid',
    'grid of css',
    'CSS-Grid!',
    'how to grid',
    'gridlock css',
    'バッグ 東京',
  ]
  const kept = (typed: Parameters<typeof readFilter>[0]) => texts.filter(readFilter(typed))

  test('of words accepts texts with all of them, in any order and spelling', () => {
    expect(kept({ match: ['grid css'] })).toEqual(['css grid', 'grid of css', 'CSS-Grid!'])
  })

  test('given several times accepts texts that match one of them', () => {
    expect(kept({ match: ['how', 'gridlock'] })).toEqual(['how to grid', 'gridlock css'])
  })

  test('for exclusion takes precedence', () => {
    expect(kept({ match: ['grid'], not: ['css', '/^how /'] })).toEqual([])
    expect(kept({ not: ['css'] })).toEqual(['how to grid', 'バッグ 東京'])
  })

  test('between slashes is a case-insensitive regular expression', () => {
    expect(kept({ match: ['/^CSS\\b.grid/'] })).toEqual(['css grid', 'CSS-Grid!'])
  })

  test('finds parts of texts in languages without blanks', () => {
    expect(kept({ match: ['東京'] })).toEqual(['バッグ 東京'])
    expect(readFilter({ match: ['京'] })('東京ホテル')).toBe(true)
  })

  test('that is invalid or empty is refused with the given text', () => {
    expect(() => readFilter({ match: ['/(/'] })).toThrow(
      /expected --match .* got \/\(\/, which is not valid/,
    )
    expect(() => readFilter({ not: [' '] })).toThrow(/expected --not to be words .* got " "/)
  })
})
