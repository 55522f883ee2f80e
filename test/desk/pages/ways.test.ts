import { expect, test } from 'vitest'
import { nameVariants } from '../../../src/desk/pages/ways.ts'
import type { Variant } from '../../../src/features/analysis/query-facts.ts'

const plain = { device: null, location: null, hl: null, gl: null, num: 10 }

function names(...variants: Partial<Variant>[]): string[] {
  const all = variants.map((variant, index) => ({
    ...plain,
    q: 'a',
    queryId: `${index}`,
    ...variant,
  }))
  return [...nameVariants(all).values()]
}

test('a text of one query is its name', () => {
  expect(names({ device: 'mobile', hl: 'de' }, { q: 'b' })).toEqual(['a', 'b'])
})

test('queries of one text are told apart by all that differs, and by nothing else', () => {
  expect(
    names({ device: 'mobile', gl: 'de' }, { device: 'desktop', gl: 'de' }, { gl: 'de' }),
  ).toEqual(['a (mobile)', 'a (desktop)', 'a'])
  expect(names({ location: 'Berlin' }, { hl: 'de' }, { gl: 'de' }, { num: 20 })).toEqual([
    'a (Berlin, 10 results)',
    'a (language de, 10 results)',
    'a (country de, 10 results)',
    'a (20 results)',
  ])
})
