import { describe, expect, test } from 'vitest'
import {
  type ComingNight,
  forecastOf,
  type ForecastInput,
} from '../../../src/core/forecast/forecast.ts'

const hour = 3_600_000
const day = 24 * hour

const night = (more: Partial<ComingNight> = {}): ComingNight => ({
  ...{ schedule: 'nightly', list: 1, listName: 'shoes', at: 2 * hour, budget: null },
  ...{ maxAgeMs: 12 * hour, keepsOld: false, day: '2026-11-01', adaptive: false },
  ...more,
})

const queries = { lists: [1], class: '10/-', queries: 300, answeredAt: null }

const prospect: ForecastInput = {
  ...{ now: 0, balance: 1000, floor: 100, perMinute: 60, dailyBudget: null },
  dayOf: (at) => String(Math.floor(at / day)),
  monthOf: (at) => `month ${Math.floor(at / (30 * day))}`,
  ...{ spentToday: 0, monthlyBudget: null, spentThisMonth: 0, lists: [] },
  ...{ open: [], nights: [], renewals: [] },
  prices: new Map([['10/-', { expected: 1, worst: 2 }]]),
  groups: [queries],
}

const steps = (more: Partial<ForecastInput>) => {
  const found = forecastOf({ ...prospect, ...more })
  if (found.kind === 'unknown') throw new Error(`nobody knows the ${found.missing}`)
  return found.steps
}

const open = (tasks: number, left: number | null = null) => [
  { run: 7, list: 'boots', month: '2026-11', left, classes: [{ class: '10/-', tasks }] },
]

describe('a forecast', () => {
  test('buys open tasks first, then each night, and shows where credits run out', () => {
    const nights = [night(), night({ at: 26 * hour })]
    expect(steps({ open: open(500), nights })).toMatchObject([
      { kind: 'run', name: '7', asked: 500, credits: 500, after: 500, cut: null, sure: false },
      { name: 'nightly', asked: 300, credits: 300, after: 200, cut: null, sure: false },
      { name: 'nightly', asked: 300, bought: 100, after: 100, cut: 'floor' },
    ])
  })

  test('says that a night fits only if it also does at the highest price', () => {
    expect(steps({ nights: [night()] })[0]).toMatchObject({ credits: 300, worst: 600, sure: true })
    expect(steps({ nights: [night()], balance: 699 })[0]).toMatchObject({ cut: null, sure: false })
  })

  test('names the minute at which the floor is reached, by the rate of calls', () => {
    const [step] = steps({ nights: [night()], balance: 220 })
    expect(step).toMatchObject({ bought: 120, cut: 'floor', floorAt: 2 * hour + 2 * 60_000 })
  })

  test('does not buy an answer that is still recent, even if another list has bought it', () => {
    const groups = [
      { lists: [1], class: '10/-', queries: 10, answeredAt: -13 * hour },
      { lists: [1, 2], class: '10/-', queries: 20, answeredAt: -hour },
      { lists: [2], class: '10/-', queries: 30, answeredAt: null },
    ]
    const nights = [
      night(),
      night({ schedule: 'second', list: 2, at: 3 * hour, maxAgeMs: hour }),
      night({ at: 14.5 * hour }),
    ]
    expect(steps({ groups, nights })).toMatchObject([
      { name: 'nightly', asked: 10, fresh: 20 },
      { name: 'second', asked: 50, fresh: 0 },
      { name: 'nightly', asked: 10, fresh: 20 },
    ])
  })

  test('skips queries according to their lists and cadences, and buys them when they are due', () => {
    const wish = { everyDays: null, maxAgeMs: null, dueOn: null, intervalDays: null }
    const about = { lists: [1], class: '10/-', answeredAt: -22 * hour, answeredOn: '2026-10-31' }
    const groups = [
      { ...about, queries: 1 },
      { ...about, queries: 10, wishes: [{ ...wish, list: 1, everyDays: 3 }] },
      { ...about, queries: 100, wishes: [{ ...wish, list: 1, maxAgeMs: 30 * hour }] },
      {
        ...{ ...about, queries: 1000 },
        wishes: [{ ...wish, list: 1, dueOn: '2026-11-02', intervalDays: 2 }],
      },
    ]
    const nights = [0, 1, 2, 3].map((n) =>
      night({ at: (2 + 24 * n) * hour, day: `2026-11-0${n + 1}`, adaptive: true }),
    )
    const rich = { groups, balance: 1_000_000 }
    expect(steps({ ...rich, nights }).map(({ asked, fresh }) => [asked, fresh])).toEqual([
      [1, 1110],
      [1101, 10],
      [11, 1100],
      [1101, 10],
    ])
    const daily = nights.map((one) => ({ ...one, adaptive: false }))
    expect(steps({ ...rich, nights: daily }).map(({ asked }) => asked)).toEqual([
      ...[1001, 1101, 1011, 1101],
    ])
  })

  test('respects the budget of a run, of a night and of a day', () => {
    expect(steps({ open: open(50, 20) })).toMatchObject([{ bought: 20, cut: 'budget' }])
    const nights = [night({ budget: 70 }), night({ at: 26 * hour })]
    expect(steps({ nights, dailyBudget: 250 })).toMatchObject([
      { bought: 70, cut: 'budget' },
      { bought: 250, cut: 'day' },
    ])
    expect(steps({ open: open(50), dailyBudget: 40, spentToday: 15 })[0]).toMatchObject({
      ...{ bought: 25, cut: 'day' },
    })
  })

  test('respects the budget of the month, and buys the rest in the next one', () => {
    const nights = [night(), night({ at: 31 * day, keepsOld: true })]
    const found = steps({ nights, monthlyBudget: 320, spentThisMonth: 120 })
    expect(found).toMatchObject([
      { at: 2 * hour, bought: 200, cut: 'month' },
      { at: 31 * day, asked: 100, bought: 100, cut: null },
      { at: 31 * day, asked: 300, bought: 220, cut: 'month' },
    ])
  })

  test('respects the monthly budgets of lists, run by run and night by night', () => {
    const lists = [
      { list: 'boots', month: '2026-11', budget: 60, gone: 45 },
      { list: 'shoes', month: '1970-01', budget: 350, gone: 0 },
    ]
    const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)
    const nights = [night(), night({ at: 26 * hour }), night({ at: 31 * day + hour })]
    const more = { balance: 9_000, dayOf, lists, nights }
    expect(steps({ ...more, open: open(50) })).toMatchObject([
      { name: '7', bought: 15, cut: 'list' },
      { bought: 300, cut: null },
      { bought: 50, cut: 'list' },
      { bought: 300, cut: null },
    ])
  })

  test('buys leftover tasks when the plan is renewed, unless a newer night replaced them', () => {
    const renewals = [{ at: 20 * hour, balance: 900 }]
    const short = { balance: 150, renewals }
    expect(steps({ ...short, nights: [night()] })).toMatchObject([
      { kind: 'night', bought: 50, cut: 'floor' },
      { kind: 'renewal', after: 900 },
      { kind: 'night', at: 20 * hour, asked: 250, bought: 250, after: 650 },
    ])
    const replaced = steps({ ...short, nights: [night(), night({ at: 19 * hour })] })
    expect(replaced.at(-1)).toMatchObject({ asked: 300, after: 600 })
  })

  test('ends at a renewal of unknown size', () => {
    const renewals = [{ at: 20 * hour, balance: null }]
    const nights = [night(), night({ at: 26 * hour })]
    expect(steps({ renewals, nights })).toHaveLength(1)
  })

  test('buys the more urgent of two nights first, and divides credits between equals by share', () => {
    const groups = [1, 2, 3].map((list) => ({ ...queries, lists: [list] }))
    const short = { balance: 400, groups }
    const dear = night({ schedule: 'a', list: 1, priority: 7 })
    const first = night({ schedule: 'z', list: 2, priority: 2 })
    expect(steps({ ...short, nights: [dear, first] })).toMatchObject([
      { name: 'z', bought: 300, cut: null },
      { name: 'a', bought: 0, cut: 'floor' },
    ])
    const parts = [0.5, 0.3, 0.2].map((part, index) =>
      night({ schedule: `shop ${index + 1}`, list: index + 1, part }),
    )
    expect(steps({ ...short, nights: parts }).map(({ bought }) => bought)).toEqual([150, 90, 60])
  })

  test('buys queries of a cadence one interval after their last purchase, not on the day decided before', () => {
    const wish = { list: 1, everyDays: null, maxAgeMs: null, dueOn: '2026-10-31', intervalDays: 3 }
    const groups = [
      { ...queries, answeredAt: -22 * hour, answeredOn: '2026-10-31', wishes: [wish] },
    ]
    const nights = [0, 1, 2].map((n) =>
      night({ at: (2 + 24 * n) * hour, day: `2026-11-0${n + 1}`, adaptive: true }),
    )
    expect(steps({ groups, nights }).map(({ asked }) => asked)).toEqual([0, 0, 300])
  })

  test('without a balance still shows the cost of the next night', () => {
    expect(forecastOf({ ...prospect, balance: null, nights: [night()] })).toEqual({
      ...{ kind: 'unknown', missing: 'balance', day: { credits: 300, worst: 600 } },
    })
  })

  test('is unknown while a class of queries was never paid for', () => {
    const prices = new Map()
    expect(forecastOf({ ...prospect, prices })).toEqual({ kind: 'unknown', missing: 'prices' })
  })
})
