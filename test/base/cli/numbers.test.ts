import { expect, test } from 'vitest'
import { count, formatNumber } from '../../../src/base/cli/text.ts'

test.each([
  [0, 'line', '0 lines'],
  [1, 'line', '1 line'],
  [1234, 'line', '1,234 lines'],
  [2, 'query', '2 queries'],
  [1_000_000, 'day', '1,000,000 days'],
  [3, 'related search', '3 related searches'],
])('formats %i of "%s" for people as %s', (number, noun, text) => {
  expect(count(number, noun)).toBe(text)
})

test('formats a number for people with thousands separators', () => {
  expect([999, 1000, -25_000].map(formatNumber)).toEqual(['999', '1,000', '-25,000'])
})
