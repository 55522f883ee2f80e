import { describe, expect, test } from 'vitest'
import { addUp } from '../../../src/core/enqueue/summary.ts'

const list = {
  run: 1,
  joined: false,
  rows: 10,
  accepted: 7,
  duplicates: 2,
  rejected: 1,
  tasks: 7,
  queued: 4,
  reused: 2,
  notAsked: 0,
  unusedIntervals: 0,
  unreadable: 0,
  shares: [],
  already: 1,
  removed: { queries: 0, examples: [], byPrice: [] },
  dropped: 0,
  before: { spent: 0, open: 0 },
  done: false,
  reasons: [],
  toBuy: [],
  estimate: { credits: 4, worst: 8, basis: 'seen' },
} as const
const costs = [
  { class: '10/-', dearest: 2, average: 1 },
  { class: '10/mobile', dearest: 5, average: 4 },
]
const funds = { remaining: 500, observedAt: null, floor: null, costs }

const none = { credits: 0, worst: 0, basis: 'nothing to buy' } as const

describe('the totals of an enqueue', () => {
  test('are the sums of its lists, and the balance after their cost', () => {
    expect(addUp([list, list], { open: none, funds, floor: 100, budget: null })).toEqual({
      rows: 20,
      accepted: 14,
      duplicates: 4,
      rejected: 2,
      tasks: 14,
      queued: 8,
      reused: 4,
      unreadable: 0,
      already: 2,
      estimate: { credits: 8, worst: 16, basis: 'seen' },
      balance: {
        remaining: 500,
        open: 0,
        after: 492,
        after_worst: 484,
        floor: 100,
        above_floor: true,
        budget: null,
        within_budget: null,
      },
    })
  })

  test.each([
    { ours: 100, workers: null, floor: 100 },
    { ours: 100, workers: 490, floor: 490 },
    { ours: 300, workers: 200, floor: 300 },
  ])('use the higher floor of $ours here and $workers of live workers', (given) => {
    const means = {
      open: none,
      funds: { ...funds, floor: given.workers },
      floor: given.ours,
      budget: null,
    }
    expect(addUp([list], means).balance.floor).toBe(given.floor)
  })

  test('subtract open tasks from the balance, or say that the rest is unknown', () => {
    const open = { credits: 300, worst: 400, basis: 'seen' } as const
    const more = { funds, floor: 100, budget: null }
    expect(addUp([list], { ...more, open }).balance).toMatchObject({
      ...{ remaining: 500, open: 300, after: 196, after_worst: 92, above_floor: false },
    })
    const dark = { credits: null, worst: null, basis: 'unknown' } as const
    expect(addUp([list], { ...more, open: dark }).balance).toMatchObject({
      ...{ open: null, after: null, above_floor: null },
    })
  })

  test('count against the budget what the runs have used and their open tasks at the highest price', () => {
    const joined = { ...list, before: { spent: 3, open: 2 } }
    const within = (budget: number) =>
      addUp([joined], { open: none, funds, floor: 0, budget }).balance
    expect(within(3 + 2 * 5 + 8).within_budget).toBe(true)
    expect(within(3 + 2 * 5 + 7).within_budget).toBe(false)
    const unpriced = { open: none, funds: { ...funds, costs: [] }, floor: 0, budget: 1_000 }
    expect(addUp([joined], unpriced).balance.within_budget).toBeNull()
  })
})
