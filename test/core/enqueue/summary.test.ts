import { describe, expect, test } from 'vitest'
import { type ListSummary, planLines, type PlanSummary } from '../../../src/core/enqueue/summary.ts'

const list: ListSummary = {
  list: 'shoes',
  rows: 12,
  accepted: 9,
  duplicates: 1,
  rejected: 2,
  tasks: 9,
  queued: 5,
  reused: 3,
  unreadable: 0,
  already: 1,
  removed: { queries: 0, examples: [], byPrice: [] },
  removedCost: { credits: 0, worst: 0, basis: 'nothing to buy' },
  dropped: 0,
  run: 7,
  reasons: [{ reason: 'no query', lines: 2 }],
  column: null,
  reading: 'utf-8, separated by commas',
  ignored: ['Volume', 'CPC'],
  notices: [],
  sample: { first: [], last: null },
}

const summary: PlanSummary = {
  lists: [list],
  origin: 'live',
  api: 'api.example',
  parameters: ['gl us', 'num 10'],
  maxAge: '12h',
  estimate: { credits: 10, worst: 20, basis: 'seen' },
  balance: {
    remaining: 110,
    open: 0,
    after: 100,
    after_worst: 90,
    floor: 100,
    above_floor: false,
    budget: 15,
    within_budget: false,
  },
}

describe('the plan', () => {
  test('names the commands that read an unreadable answer again, or buy it again', () => {
    const some = { ...summary, lists: [{ ...list, list: "Anna's list", unreadable: 2 }] }
    expect(planLines(some)).toContain(
      "  note      2 of these answers cannot be read: npm run reparse reads them again at no cost, npm run retry -- --list 'Anna'\\''s list' --buy-again --yes buys them again",
    )
  })

  test('shows how many queries are sent, merged, reused and rejected, with their parameters and cost', () => {
    expect(planLines(summary)).toEqual([
      'list        shoes, run 7: utf-8, separated by commas',
      '  read      12 lines: 9 accepted, 1 merged as duplicates, 2 rejected',
      '  queries   9: 5 to send, 3 reused from recent answers, 1 already in the run',
      '  ignored   columns "Volume", "CPC"',
      '  rejected  2 lines: no query',
      'parameters  gl us, num 10; answers younger than 12h are reused',
      'api         api.example',
      'cost        about 10 credits, at most 20 (by the prices paid so far)',
      'balance     110 now, 100 after (at least 90); credit floor: 100',
      '            not enough above the credit floor: work stops there and continues after a top-up',
      'budget      15 credits: not enough in the worst case: the rest ends as unaffordable',
    ])
  })

  test('fits on one screen, however many lists, reasons and columns there are', () => {
    const reasons = Array.from({ length: 40 }, (_, index) => ({
      reason: `reason ${index}`,
      lines: 1,
    }))
    const ignored = Array.from({ length: 84 }, (_, index) => `column ${index}`)
    const lists = Array.from({ length: 3 }, () => ({ ...list, reasons, ignored }))
    expect(planLines({ ...summary, lists }).length).toBeLessThan(45)
    const many = Array.from({ length: 500 }, () => list)
    expect(planLines({ ...summary, lists: many }).length).toBeLessThan(55)
  })

  test('lets no name in a file control the terminal', () => {
    const nasty = { ...list, list: 'a\u001b[2Jb', ignored: ['x\u009b31m'] }
    expect(planLines({ ...summary, lists: [nasty] }).join('')).not.toMatch(/\p{Cc}/u)
  })

  test('says if a price is unknown, and if credits are not real', () => {
    const unknown = { credits: null, worst: null, basis: 'unknown' } as const
    const text = planLines({ ...summary, estimate: unknown, origin: 'sandbox' }).join('\n')
    expect(text).toContain('cost        unknown')
    expect(text).toContain('SANDBOX')
  })
})
