import { describe, expect, test } from 'vitest'
import type { ForecastStep } from '../../../src/core/forecast/forecast.ts'
import {
  type CreditOutlook,
  outlookJson,
  outlookLines,
} from '../../../src/core/forecast/foresee.ts'

const at = (text: string) => Date.parse(`${text}:00Z`)
const night: ForecastStep = {
  ...{ kind: 'night', name: 'nightly', list: 'shoes', at: at('2026-11-23T02:00') },
  ...{ asked: 900, fresh: 60, bought: 900, credits: 900, worst: 1800, after: 639 },
  ...{ cut: null, sure: true, floorAt: null },
}
const run: ForecastStep = {
  ...{ ...night, kind: 'run', name: '7', list: 'boots', at: at('2026-11-22T20:00'), fresh: 0 },
  ...{ asked: 610, bought: 610, credits: 610, worst: 610, after: 929 },
}

function outlook(steps: readonly ForecastStep[], more: Partial<CreditOutlook> = {}): CreditOutlook {
  return {
    now: new Date('2026-11-22T20:00Z'),
    until: new Date('2026-11-29T20:00Z'),
    ...{ balance: 1539, observedAt: new Date('2026-11-22T19:58Z'), floor: 100, perMinute: 60 },
    ...{ schedules: 1, unpriced: [], renewal: null },
    forecast: { kind: 'known', steps },
    ...more,
  }
}

const words = (found: CreditOutlook) => outlookLines(found, 'UTC').slice(2)

describe('the outlook in words', () => {
  test('shows a line for each run and night, and what the coming day costs', () => {
    const [balance, table, ...rest] = outlookLines(outlook([run, night]), 'UTC')
    expect(balance).toBe(
      '1539 credits when calls on their way are paid, told 2026-11-22 19:58; the floor is 100',
    )
    expect(table).toBe(
      [
        'when              what     list   to buy  fresh  credits  at worst  left  verdict',
        '2026-11-22 20:00  run 7    boots     610      0      610       610   929  fits',
        '2026-11-23 02:00  nightly  shoes     900     60      900      1800   639  fits',
      ].join('\n'),
    )
    expect(rest).toEqual([
      'the coming 24 hours: about 1510 credits, 610 of them for what is open; 2410 at the worst',
      'the floor is not met until 2026-11-29, also at the dearest price paid lately',
    ])
  })

  test('names the minute and the query at which the floor stops a night', () => {
    const stop = { ...night, bought: 640, cut: 'floor', sure: false } as const
    const found = outlook([{ ...stop, floorAt: at('2026-11-23T02:11') }])
    expect(words(found)[1]).toBe(
      'the floor is met 2026-11-23 02:11 or about then: shoes stops at 640 of 900',
    )
    expect(outlookLines(found, 'UTC')[1]).toContain('the floor stops it at 640 of 900')
    expect(outlookJson(found)).toMatchObject({
      floor_at: new Date('2026-11-23T02:11Z'),
      steps: [{ name: 'nightly', floor_at: new Date('2026-11-23T02:11Z') }],
    })
  })

  test('tells what fits only at the prices paid lately, and what budgets leave out', () => {
    expect(words(outlook([{ ...night, sure: false }]))[1]).toBe(
      'the floor is not met until 2026-11-29 at what was paid lately; at the dearest, shoes of 2026-11-23 02:00 does not fit',
    )
    const short = { ...night, bought: 40, cut: 'budget', sure: false } as const
    expect(words(outlook([short, { ...short, at: at('2026-11-24T02:00') }]))[2]).toBe(
      'budgets leave out 1720 queries, the first time 2026-11-23 02:00: shoes ends at 40 of 900',
    )
  })

  test('says how many credits to add by when, and which schedule has no figure', () => {
    const short = { ...night, bought: 400, credits: 400, cut: 'floor', sure: false } as const
    const unpriced = [{ schedule: 'news', reason: 'the list news was never read' }]
    expect(words(outlook([short], { unpriced })).slice(2)).toEqual([
      'to buy all of it, add 500 credits by 2026-11-23 02:00',
      'news has no figure: the list news was never read',
    ])
    const day = { credits: 900, worst: 1800 }
    const dark = { kind: 'unknown', missing: 'balance', day } as const
    expect(outlookLines(outlook([], { balance: null, forecast: dark }), 'UTC')[2]).toBe(
      'the coming 24 hours: about 900 credits; 1800 at the worst',
    )
  })

  test('says what nobody knows yet: balance, prices, what a renewal brings', () => {
    const dark = (missing: 'balance' | 'prices') =>
      outlookLines(outlook([], { balance: null, forecast: { kind: 'unknown', missing } }), 'UTC')
    expect(dark('balance')).toEqual([
      'balance not told yet; the floor is 100',
      'nobody knows the balance yet: the first answers tell it',
    ])
    expect(dark('prices')[1]).toBe(
      'nobody knows what each kind of query costs yet: the first answers tell it',
    )
    const renewal = { at: new Date('2026-12-01T00:00Z'), balance: null }
    expect(words(outlook([night], { renewal }))[2]).toBe(
      'a renewal is due 2026-12-01 00:00: how much it brings is known after the first one',
    )
    expect(outlookLines(outlook([], { schedules: 0 }), 'UTC')[1]).toBe(
      'nothing is open, and no schedule is on',
    )
  })
})
