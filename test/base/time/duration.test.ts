import { describe, expect, test } from 'vitest'
import { readDuration } from '../../../src/base/time/zone.ts'

describe('a duration', () => {
  test.each([
    ['0', 0],
    ['1.5s', 1500],
    ['90 m', 5_400_000],
    ['36500d', 3_153_600_000_000],
  ])('%s is parsed', (text, ms) => {
    expect(readDuration(text)).toBe(ms)
  })

  test.each(['', 'soon', '12', '-1h', '36501d', '3000000d', '99999999999d', `${'9'.repeat(400)}w`])(
    '%s is invalid, or longer than a database supports',
    (text) => {
      expect(readDuration(text)).toBeNull()
    },
  )
})
