import { describe, expect, test } from 'vitest'
import type { ListPlan, Plans } from '../../../src/core/enqueue/planning.ts'
import { planLines, reportOf } from '../../../src/core/enqueue/result.ts'
import { addUp } from '../../../src/core/enqueue/summary.ts'

const list: ListPlan = {
  list: 'shoes',
  run: 7,
  joined: false,
  rows: 4,
  accepted: 2,
  duplicates: 1,
  rejected: 1,
  tasks: 2,
  queued: 2,
  reused: 0,
  notAsked: 0,
  unusedIntervals: 0,
  unreadable: 0,
  shares: [],
  already: 0,
  removed: { queries: 0, examples: [], byPrice: [] },
  removedCost: { credits: 0, worst: 0, basis: 'nothing to buy' },
  dropped: 0,
  before: { spent: 0, open: 0 },
  done: false,
  reasons: [{ reason: 'no query', lines: 1 }],
  toBuy: [],
  estimate: { credits: 2, worst: 4, basis: 'seen' },
  heading: null,
  headersAgain: [],
  notices: [],
  sample: { first: [], last: null },
}

const verdict = { ignored: new Map(), decimals: new Map() }
const heading = {
  file: 'shoes.csv',
  sheet: null,
  rows: [],
  runnerUp: null,
  verdict,
  encoding: { label: 'windows-1252', mark: 0, how: 'given' },
  dialect: {
    delimiter: ';',
    headerLine: 3,
    header: ['Keyword', 'Volume', 'Target URL'],
    columns: {
      query: 0,
      others: [{ role: 'target', index: 2, several: false }],
      needed: 1,
      width: 3,
      ignored: ['Volume'],
    },
  },
} as const

const supplier = { origin: 'live', api: 'api.example' } as const
const none = { credits: 0, worst: 0, basis: 'nothing to buy' } as const

function plansOf(committed: boolean, ...lists: readonly ListPlan[]): Plans {
  const funds = { remaining: null, observedAt: null, floor: null, costs: [] }
  return { lists, committed, totals: addUp(lists, { open: none, funds, floor: 100, budget: null }) }
}

function readings(...lists: readonly ListPlan[]): readonly string[] {
  const lines = planLines(plansOf(true, ...lists), supplier, { parameters: [], maxAge: '12h' })
  return lines.filter((line) => line.startsWith('list '))
}

describe('how a list was read', () => {
  test('is described with its encoding, delimiter, columns, and repeated headers', () => {
    expect(readings({ ...list, heading, headersAgain: [9, 12] })).toEqual([
      'list        shoes, run 7: windows-1252, separated by semicolons, queries from "Keyword" (header on line 3), with target url, repeated headers on line 9, 12',
    ])
  })

  test('is described for plain lines, and for a list planned from the tables', () => {
    const columns = { query: 0, others: [], needed: 1, width: 1, ignored: [] }
    const dialect = { delimiter: null, headerLine: null, header: [], columns }
    const encoding = { label: 'utf-8', mark: 0, how: 'proven' } as const
    const plain = { ...list, heading: { ...heading, encoding, dialect } }
    expect(readings(plain, list)).toEqual([
      'list        shoes, run 7: utf-8, one query per line, no header',
      'list        shoes, run 7: as last read',
    ])
  })
})

describe('the report of an enqueue', () => {
  test('names a run only if it was stored or joined', () => {
    const joined = { ...list, list: 'hats', run: 8, joined: true }
    const runsOf = (plans: Plans) =>
      reportOf(plans, { parameters: [] }, []).runs.map((found) =>
        'run' in found ? found.run : undefined,
      )
    expect(runsOf(plansOf(true, list, joined))).toEqual([7, 8])
    expect(runsOf(plansOf(false, list, joined))).toEqual([null, 8])
  })

  test('adds up its lists, and names the file of rejected lines for each', () => {
    const files = ['/lists/shoes.rejected.csv']
    const report = reportOf(
      plansOf(true, list, { ...list, list: 'hats', done: true }),
      { parameters: ['num 10'] },
      files,
    )
    expect(report).toMatchObject({ run: 7, list: 'shoes', rows: 8, queued: 4, open: true })
    expect(report.runs).toMatchObject([
      { list: 'shoes', rows: 4, rejected_file: '/lists/shoes.rejected.csv' },
      { list: 'hats', rows: 4, rejected_file: null },
    ])
  })
})
