import { describe, expect, test } from 'vitest'
import type { RunAnswer } from '../../../src/core/nights/evidence.ts'
import { judgeRun } from '../../../src/core/nights/judge.ts'

const figures = {
  ...{ asked: 40, answered: 40, empty: 0, unreadable: 0, paid_refusal: 0, other_query: 0 },
  ...{ depth: 100, price: 1, minutes: 20, paused_minutes: 0, workers: 1 },
}
const quiet = {
  ...{ compared: 40, turnover: 0.02, turnover_newest: 0.02, sameness: 0, repeats: 0 },
  ...{ foreign_share: null, stale: 0 },
}
const before = [3, 2, 1].map((run) => ({ ...figures, ...quiet, run_id: run }))

const pagesOf = (query: number) => Array.from({ length: 10 }, (_, place) => query * 100 + place)

/** Forty answers like those of the three days before, except for some. */
function night(changed: ReadonlyMap<number, Partial<RunAnswer>>): readonly RunAnswer[] {
  return Array.from({ length: 40 }, (_, query) => ({
    ...{ search_id: query, q: `query ${query}`, foreign: null, pages: pagesOf(query) },
    earlier: [3, 2, 1].map((day) => ({ day, trusted: true, pages: pagesOf(query) })),
    ...changed.get(query),
  }))
}

function judge(changed: readonly (readonly [number, Partial<RunAnswer>])[]) {
  const answers = night(new Map(changed))
  const { findings, doubts } = judgeRun({ ...figures, run_id: 4 }, answers, {
    usual: before,
    last: before.slice(0, 2),
  })
  const suspect = findings.some(({ verdict }) => verdict === 'quarantine')
  return { suspect, doubted: doubts.map(({ search_id: id }) => id).toSorted((a, b) => a - b) }
}

const junk = pagesOf(99)
const some = (many: number, change: (query: number) => Partial<RunAnswer>) =>
  Array.from({ length: many }, (_, query) => [query, change(query)] as const)

describe('a run with some bad answers', () => {
  test('loses none of its answers if all are as usual', () => {
    expect(judge([])).toEqual({ suspect: false, doubted: [] })
  })

  test.each([
    ['show the same pages', () => ({ pages: junk }), 5],
    ['show the results of another query', (query: number) => ({ pages: pagesOf(query + 20) }), 3],
    ['repeat one page', () => ({ pages: Array.from({ length: 10 }, () => 1) }), 2],
    ['moved in all places at once', (query: number) => ({ pages: pagesOf(query + 500) }), 12],
  ])('loses those that %s, and is trusted for the rest', (_, change, many) => {
    const doubted = Array.from({ length: many }, (_one, query) => query)
    expect(judge(some(many, change))).toEqual({ suspect: false, doubted })
  })

  test('is not trusted at all if most of them are bad', () => {
    expect(judge(some(25, () => ({ pages: junk })))).toEqual({ suspect: true, doubted: [] })
    const foreign = some(25, (query) => ({ pages: pagesOf(query + 500) }))
    expect(judge(foreign)).toEqual({ suspect: true, doubted: [] })
  })

  test('keeps a single query with entirely new results, which may be correct', () => {
    expect(judge([[7, { pages: pagesOf(500) }]])).toEqual({ suspect: false, doubted: [] })
  })

  test('trusts an answer that was rejected twice and shows the same for the third time', () => {
    const lasting = (query: number) => ({
      pages: pagesOf(query + 20),
      earlier: [3, 2, 1].map((day) => ({
        day,
        trusted: day === 1,
        pages: pagesOf(query + (day === 1 ? 0 : 20)),
      })),
    })
    expect(judge(some(3, lasting))).toEqual({ suspect: false, doubted: [] })
  })
})
