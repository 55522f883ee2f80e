import { expect, test } from 'vitest'
import { nameVariants, type Variant } from '../../../src/desk/pages/ways.ts'

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

test('a query with a unique text is named by it', () => {
  expect(names({ device: 'mobile', hl: 'de' }, { q: 'b' })).toEqual(['a', 'b'])
})

test('queries with the same text are distinguished by all parameters that differ, and only by these', () => {
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
