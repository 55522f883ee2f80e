import { describe, expect, test } from 'vitest'
import type { ForecastStep } from '../../../src/core/forecast/forecast.ts'
import {
  type CreditForecast,
  forecastJson,
  forecastLines,
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

function forecast(
  steps: readonly ForecastStep[],
  more: Partial<CreditForecast> = {},
): CreditForecast {
  return {
    now: new Date('2026-11-22T20:00Z'),
    until: new Date('2026-11-29T20:00Z'),
    ...{ balance: 1539, observed_at: new Date('2026-11-22T19:58Z'), floor: 100 },
    ...{ calls_per_minute: 60, isShorter: false, schedules: 1, without_figure: [], renewal: null },
    outcome: { kind: 'known', steps },
    ...more,
  }
}

const words = (found: CreditForecast) => forecastLines(found, 'UTC').slice(2)

describe('the forecast in words', () => {
  test('shows a line for each run and night, and the cost of the coming day', () => {
    const [balance, table, ...rest] = forecastLines(forecast([run, night]), 'UTC')
    expect(balance).toBe(
      'Balance: 1,539 credits (reported 2026-11-22 19:58, after calls in flight); credit floor: 100',
    )
    expect(table).toBe(
      [
        'when              what     list   to buy  fresh  credits  at worst  left  verdict',
        '2026-11-22 20:00  run 7    boots     610      0      610       610   929  fits',
        '2026-11-23 02:00  nightly  shoes     900     60      900      1800   639  fits',
      ].join('\n'),
    )
    expect(rest).toEqual([
      'next 24 hours: about 1,510 credits (610 for open runs), at most 2,410',
      'the credit floor is not reached before 2026-11-29, even at the highest recent price',
    ])
  })

  test('names the minute and the query at which the floor stops a night', () => {
    const stop = { ...night, bought: 640, cut: 'floor', sure: false } as const
    const found = forecast([{ ...stop, floorAt: at('2026-11-23T02:11') }])
    expect(words(found)[1]).toBe(
      'the credit floor is reached around 2026-11-23 02:11: shoes stops after 640 of 900 queries',
    )
    expect(forecastLines(found, 'UTC')[1]).toContain('credit floor reached after 640 of 900')
    expect(forecastJson(found)).toMatchObject({
      floor_at: new Date('2026-11-23T02:11Z'),
      steps: [{ name: 'nightly', floor_at: new Date('2026-11-23T02:11Z') }],
    })
  })

  test('says what fits only at recent prices, and what budgets leave out', () => {
    expect(words(forecast([{ ...night, sure: false }]))[1]).toBe(
      'the credit floor is not reached before 2026-11-29 at recent prices; at the highest price, the run of shoes at 2026-11-23 02:00 is not affordable',
    )
    const short = { ...night, bought: 40, cut: 'budget', sure: false } as const
    expect(words(forecast([short, { ...short, at: at('2026-11-24T02:00') }]))[2]).toBe(
      'budgets exclude 1,720 queries, first on 2026-11-23 02:00, when shoes stops after 40 of 900',
    )
  })

  test('says how many credits to add by when, and which schedule has no forecast', () => {
    const short = { ...night, bought: 400, credits: 400, cut: 'floor', sure: false } as const
    const news = { schedule: 'news', reason: 'the list news has never been read' }
    expect(words(forecast([short], { without_figure: [news] })).slice(2)).toEqual([
      'to buy everything, add 500 credits by 2026-11-23 02:00',
      'news has no forecast: the list news has never been read',
    ])
    const day = { credits: 900, worst: 1800 }
    const dark = { kind: 'unknown', missing: 'balance', day } as const
    expect(forecastLines(forecast([], { balance: null, outcome: dark }), 'UTC')[2]).toBe(
      'next 24 hours: about 900 credits, at most 1,800',
    )
  })

  test('says what is unknown: balance, prices, the size of a renewal', () => {
    const dark = (missing: 'balance' | 'prices') =>
      forecastLines(forecast([], { balance: null, outcome: { kind: 'unknown', missing } }), 'UTC')
    expect(dark('balance')).toEqual([
      'Balance: unknown; credit floor: 100',
      'the balance is not known until the first answers arrive',
    ])
    expect(dark('prices')[1]).toBe('prices are not known until the first answers arrive')
    const renewal = { at: new Date('2026-12-01T00:00Z'), balance: null }
    expect(words(forecast([night], { renewal }))[2]).toBe(
      'the plan renews at 2026-12-01 00:00; the first renewal will show how many credits it adds',
    )
    expect(forecastLines(forecast([], { schedules: 0 }), 'UTC')[1]).toBe(
      'no run is open, and no schedule is enabled',
    )
  })

  test('says where a forecast ends that is shorter than asked', () => {
    expect(words(forecast([night], { isShorter: true })).at(-1)).toBe(
      'the forecast ends at 2026-11-29 20:00, because more than 10,000 nights are due in the full period',
    )
  })
})
