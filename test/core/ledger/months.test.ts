import { describe, expect, test } from 'vitest'
import { readCron } from '../../../src/base/time/cron.ts'
import { monthsOf } from '../../../src/core/ledger/account.ts'

const renewal = (pattern: string) => {
  const reading = readCron(pattern)
  if (reading.kind === 'problem') throw new Error(reading.problem)
  return reading.cron
}
const seen = (pattern: string | null, zone: string, time: string) => {
  const { month, ends } = monthsOf(
    pattern === null ? null : renewal(pattern),
    zone,
  )(Date.parse(time))
  return [month, new Date(ends).toISOString()]
}

describe('a month', () => {
  test('is the calendar month in the zone if no renewal is configured', () => {
    expect(seen(null, 'UTC', '2026-11-30T23:59Z')).toEqual([
      '2026-11-01',
      '2026-12-01T00:00:00.000Z',
    ])
    expect(seen(null, 'Europe/Berlin', '2026-11-30T23:59Z')).toEqual([
      ...['2026-12-01', '2026-12-31T23:00:00.000Z'],
    ])
  })

  test('lasts from renewal to renewal if one is configured, however rare it is', () => {
    const fifteenth = (time: string) => seen('0 6 15 * *', 'UTC', time)
    expect(fifteenth('2026-11-15T05:59Z')).toEqual(['2026-10-15', '2026-11-15T06:00:00.000Z'])
    expect(fifteenth('2026-11-15T06:00Z')).toEqual(['2026-11-15', '2026-12-15T06:00:00.000Z'])
    expect(seen('0 0 1 1 *', 'UTC', '2026-11-15T06:00Z')[0]).toBe('2026-01-01')
    expect(seen('0 0 29 2 *', 'UTC', '2026-11-15T06:00Z')[0]).toBe('2024-02-29')
  })

  test('changes with the requested time, also backwards', () => {
    const monthOf = monthsOf(null, 'UTC')
    const asked = [
      '2026-11-30T23:59Z',
      '2026-12-01T00:00Z',
      '2026-11-01T00:00Z',
      '2027-01-09T00:00Z',
    ]
    expect(asked.map((time) => monthOf(Date.parse(time)).month)).toEqual([
      ...['2026-11-01', '2026-12-01', '2026-11-01', '2027-01-01'],
    ])
  })
})
