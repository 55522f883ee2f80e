import { describe, expect, test } from 'vitest'
import type { ListPlan, Plans } from '../../../src/core/enqueue/planning.ts'
import { planLines } from '../../../src/core/enqueue/result.ts'

const heading = {
  file: 'shoes.csv',
  sheet: null,
  rows: [],
  runnerUp: null,
  verdict: { ignored: new Map(), decimals: new Map() },
  encoding: { label: 'utf-8', mark: 0, how: 'proven' },
  dialect: {
    delimiter: ',',
    headerLine: 1,
    header: ['Keyword'],
    columns: { query: 0, others: [], needed: 1, width: 1, ignored: ['Volume', 'CPC'] },
  },
} as const

const counts = {
  rows: 12,
  accepted: 9,
  duplicates: 1,
  rejected: 2,
  tasks: 9,
  queued: 5,
  reused: 3,
  unreadable: 0,
  already: 1,
}

const list: ListPlan = {
  ...counts,
  list: 'shoes',
  removed: { queries: 0, examples: [], byPrice: [] },
  removedCost: { credits: 0, worst: 0, basis: 'nothing to buy' },
  dropped: 0,
  run: 7,
  joined: false,
  done: false,
  notAsked: 0,
  unusedIntervals: 0,
  shares: [],
  before: { spent: 0, open: 0 },
  toBuy: [],
  estimate: { credits: 10, worst: 20, basis: 'seen' },
  reasons: [{ reason: 'no query', lines: 2 }],
  heading,
  headersAgain: [],
  notices: [],
  sample: { first: [], last: null },
}

const totals: Plans['totals'] = {
  ...counts,
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

/** Returns the lines that describe a plan for these lists. */
function linesOf(
  lists: readonly ListPlan[],
  {
    origin = 'live',
    estimate = totals.estimate,
  }: Partial<Plans['totals']> & {
    origin?: 'live' | 'sandbox'
  } = {},
): readonly string[] {
  const plans = { lists, totals: { ...totals, estimate }, committed: true }
  const intake = { parameters: ['gl us', 'num 10'], maxAge: '12h' }
  return planLines(plans, { origin, api: 'api.example' }, intake)
}

function ignoring(ignored: readonly string[]): ListPlan {
  const columns = { ...heading.dialect.columns, ignored }
  return { ...list, heading: { ...heading, dialect: { ...heading.dialect, columns } } }
}

describe('the plan', () => {
  test('names the commands that read an unreadable answer again, or buy it again', () => {
    expect(linesOf([{ ...list, list: "Anna's list", unreadable: 2 }])).toContain(
      "  note      2 of these answers cannot be read; npm run reparse reads them again at no cost, and npm run retry -- --list 'Anna'\\''s list' --buy-again --yes buys them again",
    )
  })

  test('shows how many queries are sent, merged, reused and rejected, with their parameters and cost', () => {
    expect(linesOf([list])).toEqual([
      'list        shoes, run 7: utf-8, separated by commas, queries from "Keyword" (header on line 1)',
      '  read      12 lines: 9 accepted, 1 merged as duplicates, 2 rejected',
      '  queries   9: 5 to send, 3 reused from recent answers, 1 already in the run',
      '  ignored   columns "Volume", "CPC"',
      '  rejected  2 lines: no query',
      'parameters  gl us, num 10; answers younger than 12h are reused',
      'api         api.example',
      'cost        about 10 credits, at most 20 (at the prices paid so far)',
      'balance     110 now, 100 afterwards (at least 90); credit floor: 100',
      '            not enough above the credit floor; work stops at the floor and continues after a top-up',
      'budget      15 credits: not enough in the worst case; the remaining queries would end as unaffordable',
    ])
  })

  test('fits on one screen, however many lists, reasons and columns there are', () => {
    const reasons = Array.from({ length: 40 }, (_, index) => ({
      reason: `reason ${index}`,
      lines: 1,
    }))
    const ignored = Array.from({ length: 84 }, (_, index) => `column ${index}`)
    const lists = Array.from({ length: 3 }, () => ({ ...ignoring(ignored), reasons }))
    expect(linesOf(lists).length).toBeLessThan(45)
    const many = Array.from({ length: 500 }, () => list)
    expect(linesOf(many).length).toBeLessThan(55)
  })

  test('lets no name in a file control the terminal', () => {
    const nasty = { ...ignoring(['x\u009b31m']), list: 'a\u001b[2Jb' }
    expect(linesOf([nasty]).join('')).not.toMatch(/\p{Cc}/u)
  })

  test('says if a price is unknown, and if credits are not real', () => {
    const unknown = { credits: null, worst: null, basis: 'unknown' } as const
    const text = linesOf([list], { estimate: unknown, origin: 'sandbox' }).join('\n')
    expect(text).toContain('cost        unknown')
    expect(text).toContain('SANDBOX')
  })
})
