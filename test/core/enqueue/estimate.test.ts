import { describe, expect, test } from 'vitest'
import {
  addEstimates,
  estimateCost,
  forecastBalance,
  needsYes,
} from '../../../src/core/enqueue/summary.ts'

const classOf = ({ num, device }: { num: number; device: string | null }): string =>
  `${num}/${device ?? '-'}`
const prices = [
  { class: '10/-', dearest: 2, average: 1.5 },
  { class: '10/mobile', dearest: 5, average: null },
]

describe('the cost of a purchase', () => {
  test('is the average cost of the newest calls, and at worst the highest cost', () => {
    const toBuy = [
      { num: 10, device: null, tasks: 3 },
      { num: 10, device: 'mobile', tasks: 2 },
    ]
    expect(estimateCost(toBuy, prices, classOf)).toEqual({ credits: 15, worst: 16, basis: 'seen' })
  })

  test('is unknown if one class of calls was never paid for, and zero if nothing is bought', () => {
    const unseen = { num: 100, device: null, tasks: 1 }
    expect(estimateCost([unseen], prices, classOf)).toEqual({
      credits: null,
      worst: null,
      basis: 'unknown',
    })
    const nothing = estimateCost([{ ...unseen, tasks: 0 }], prices, classOf)
    expect(nothing).toEqual({ credits: 0, worst: 0, basis: 'nothing to buy' })
  })

  test('of several lists is the sum, and unknown if one of them is', () => {
    const seen = { credits: 2, worst: 3, basis: 'seen' } as const
    const nothing = { credits: 0, worst: 0, basis: 'nothing to buy' } as const
    const unknown = { credits: null, worst: null, basis: 'unknown' } as const
    expect(addEstimates([seen, nothing, seen])).toEqual({ credits: 4, worst: 6, basis: 'seen' })
    expect(addEstimates([seen, unknown])).toEqual(unknown)
    expect(addEstimates([nothing])).toEqual(nothing)
  })
})

describe('the balance', () => {
  const estimate = { credits: 10, worst: 20, basis: 'seen' } as const

  test('is compared with floor and budget in the worst case', () => {
    expect(forecastBalance(estimate, { remaining: 120, floor: 100, budget: 19 })).toMatchObject({
      after: 110,
      after_worst: 100,
      above_floor: true,
      within_budget: false,
    })
    expect(forecastBalance(estimate, { remaining: 119, floor: 100, budget: null })).toMatchObject({
      above_floor: false,
      within_budget: null,
    })
  })

  test('counts what the run has used and may still use of its budget', () => {
    const money = { remaining: 500, floor: 100, budget: 30 }
    expect(forecastBalance(estimate, { ...money, before: 10 }).within_budget).toBe(true)
    expect(forecastBalance(estimate, { ...money, before: 11 }).within_budget).toBe(false)
    expect(forecastBalance(estimate, { ...money, before: null }).within_budget).toBe(null)
  })

  test('is unknown without a balance or a price', () => {
    const unknown = { credits: null, worst: null, basis: 'unknown' } as const
    expect(forecastBalance(estimate, { remaining: null, floor: 0, budget: null }).after).toBe(null)
    expect(forecastBalance(unknown, { remaining: 50, floor: 0, budget: 5 })).toMatchObject({
      after: null,
      above_floor: null,
      within_budget: null,
    })
  })
})

describe('a large purchase', () => {
  test('needs confirmation; a smaller one does, too, while its price is unknown', () => {
    expect(needsYes(1000, { credits: 1, worst: 1, basis: 'seen' })).toBe(false)
    expect(needsYes(1001, { credits: 1, worst: 1, basis: 'seen' })).toBe(true)
    expect(needsYes(501, { credits: null, worst: null, basis: 'unknown' })).toBe(true)
  })
})
