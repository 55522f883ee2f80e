import { expect, test } from 'vitest'
import { isDay } from '../../../src/base/time/zone.ts'

test.each(['2026-01-31', '2024-02-29', '0001-01-01', '9999-12-31'])('%s is a day', (text) => {
  expect(isDay(text)).toBe(true)
})

test.each([
  '2026-02-30',
  '2025-02-29',
  '2026-13-01',
  '2026-1-31',
  '2026-01-31T00:00',
  '+010000-01-01',
  ' 2026-01-31',
  '',
])('%j is not a day', (text) => {
  expect(isDay(text)).toBe(false)
})
