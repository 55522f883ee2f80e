import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/base/config.ts'
import { supplierOf } from '../../../src/core/mill.ts'
import { spenderOf } from '../../../src/core/worker/worker.ts'

function spender(settings: Record<string, string>) {
  const config = readConfig(settings)
  return spenderOf({ config, supplier: supplierOf(config) }, { account: 1, worker: 1, key: 'k' })
}

describe('the zone of the settings', () => {
  test('determines when the plan renews', () => {
    const { renewalAfter } = spender({ MILL_RENEWAL: '0 0 1 * *', MILL_ZONE: 'Europe/Berlin' })
    expect(renewalAfter(Date.parse('2026-11-21T00:00Z'))).toBe(Date.parse('2026-11-30T23:00Z'))
  })

  test('determines the day of the daily budget, and when that day ends', () => {
    const { dayOf } = spender({ MILL_ZONE: 'Europe/Berlin' })
    expect(dayOf(Date.parse('2026-03-28T23:30Z'))).toEqual({
      day: '2026-03-29',
      // Clocks go forward that night, so the day has 23 hours.
      ends: Date.parse('2026-03-29T22:00Z'),
    })
  })
})

test('the limits of the settings are those of admission', () => {
  const settings = {
    MILL_CREDIT_FLOOR: '70',
    MILL_DAILY_BUDGET: '500',
    MILL_RATE_LIMIT: '2.5',
  }
  expect(spender(settings)).toMatchObject({
    floor: 70,
    dailyBudget: 500,
    rateLimit: 2.5,
    origin: 'sandbox',
    api: 'bundled',
    account: 1,
    worker: 1,
    key: 'k',
  })
})

test('a stop for lack of credits is retried as often as the settings say, and at an earlier renewal', () => {
  const settings = { MILL_PROBE_EVERY: '1h', MILL_RENEWAL: '0 0 1 * *' }
  const { renewalAfter } = spender(settings)
  const hour = 3_600_000
  const noon = Date.parse('2026-11-21T12:00Z')
  expect(renewalAfter(noon)).toBe(noon + hour)
  const late = Date.parse('2026-11-30T23:30Z')
  expect(renewalAfter(late)).toBe(late + hour / 2)
  expect(() => spender({ MILL_PROBE_EVERY: '10ms' })).toThrow('a duration of at least 1s')
})

test('no renewal is known if none is configured', () => {
  expect(spender({}).renewalAfter(0)).toBeNull()
})
