// @module-tag slow
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unseenOf } from '../../../src/features/cadence/draws.ts'
import { usualShare } from '../../../src/features/cadence/night.ts'
import {
  movesSeen,
  type QueryHistory,
  replayNights,
  sumUp,
} from '../../../src/features/cadence/replay.ts'
import {
  differencesBetween,
  findLenders,
  type FirstTen,
  sightOn,
  type WatchedQuery,
} from '../../../src/features/cadence/sights.ts'
import { makeHistories } from '../../support/histories.ts'
import { makeTwins } from '../../support/twins.ts'

const first = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
const other = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]

function watched(
  id: string,
  days: readonly number[],
  pagesOn = (_day: number) => first,
): WatchedQuery {
  return { id, sights: days.map((day): FirstTen => ({ day, depth: 10, pages: pagesOn(day) })) }
}

const days = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)
const lendersOf = (...queries: WatchedQuery[]) =>
  Object.fromEntries([...findLenders(queries)].map(([id, { id: lender }]) => [id, lender]))

describe('twins', () => {
  test('are queries whose answers were the same ten nights long, and no sooner', () => {
    expect(lendersOf(watched('a', days(1, 10)), watched('b', days(1, 10)))).toEqual({})
    expect(lendersOf(watched('a', days(1, 11)), watched('b', days(1, 11)))).toEqual({ b: 'a' })
  })

  test('need five answers of the one that is lent to, however long ago the first was', () => {
    const asked = (...at: number[]) => lendersOf(watched('a', days(1, 40)), watched('b', at))
    expect(asked(1, 10, 30, 40)).toEqual({})
    expect(asked(1, 10, 20, 30, 40)).toEqual({ b: 'a' })
  })

  test('are none any more once one answer differs, until they have been the same for long again', () => {
    const until = (last: number) =>
      lendersOf(
        watched('a', days(1, last)),
        watched('b', days(1, last), (day) => (day === 20 ? other : first)),
      )
    expect([until(19), until(20), until(30), until(31)]).toEqual([{ b: 'a' }, {}, {}, { b: 'a' }])
  })

  test('may move as long as they move together, and stand in another order', () => {
    const together = (day: number) => (day % 3 === 0 ? other : first)
    const turned = (day: number) => together(day).toReversed()
    const found = lendersOf(
      watched('a', days(1, 30), together),
      watched('b', days(1, 30), turned),
      watched('c', days(1, 30), (day) => together(day + 1)),
    )
    expect(found).toEqual({ b: 'a' })
  })

  test('are all lent to by one that is asked most, which is lent nothing itself', () => {
    const found = lendersOf(
      watched('a', days(5, 30)),
      watched('b', days(1, 30)),
      watched('c', days(10, 30)),
    )
    expect(found).toEqual({ a: 'b', c: 'b' })
  })

  test('lend no answer that is older than the own one of the other', () => {
    const found = lendersOf(watched('a', days(1, 25)), watched('b', [1, 8, 15, 20, 26]))
    expect(found).toEqual({})
  })

  test('are not made of answers of which one reaches deeper', () => {
    const shallow: WatchedQuery = {
      id: 'b',
      sights: days(1, 20).map((day) => ({ day, depth: 3, pages: [1, 2, 3] })),
    }
    expect(lendersOf(watched('a', days(1, 20)), shallow)).toEqual({})
  })

  test('are found as by looking at every pair', () => {
    const sight = fc.record({ gap: fc.integer({ min: 1, max: 4 }), odd: fc.boolean() })
    const history = fc.array(sight, { minLength: 0, maxLength: 14 })
    fc.assert(
      fc.property(fc.array(history, { minLength: 2, maxLength: 6 }), (histories) => {
        const queries = histories.map((steps, index): WatchedQuery => {
          let day = 0
          const at = new Map(steps.map(({ gap, odd }) => [(day += gap), odd]))
          return watched(`q${index}`, [...at.keys()], (on) => (at.get(on) === true ? other : first))
        })
        const found = findLenders(queries)
        const inOrder = queries.toSorted((a, b) => b.sights.length - a.sights.length)
        const lenders: WatchedQuery[] = []
        for (const query of inOrder) {
          const twin = lenders.find((one) => areTwins(query, one))
          expect(found.get(query.id)?.id).toBe(twin?.id)
          if (twin === undefined) lenders.push(query)
        }
      }),
      { numRuns: 300 },
    )
  })
})

/** The rule as it is written down, by looking at everything. */
function areTwins({ sights }: WatchedQuery, lender: WatchedQuery): boolean {
  const last = sights.at(-1)
  const lenderDay = lender.sights.at(-1)?.day
  if (last === undefined || lenderDay === undefined || lenderDay < last.day) return false
  const stood = sights.map((own) => ({ own, lent: sightOn(lender.sights, own.day) }))
  // The newest is looked for among what was answered lately.
  const newest = stood.at(-1)
  if (newest?.lent === undefined || newest.lent === null || last.day - newest.lent.day > 7)
    return false
  const broken = stood.findLastIndex(
    ({ own, lent }) => lent === null || differencesBetween(lent, own) !== 0,
  )
  const equal = stood
    .slice(broken + 1)
    .filter(({ own, lent }) => lent !== null && own.day - lent.day <= 7)
  return equal.length >= 5 && last.day - (equal[0]?.own.day ?? last.day) >= 10
}

const rules = { list: 'proof', longest: 14, share: usualShare, lends: true }

/** A list of which half are twins of the other half, some of them for a time only. */
function listOf(seed: string, queries: number, nights: number): readonly QueryHistory[] {
  return makeTwins(makeHistories({ seed, queries, nights }), { seed })
}

describe('a list that lends', () => {
  const histories = listOf('lends', 60, 120)
  const nights = replayNights(histories, rules)
  const lent = nights.flatMap(({ day, lent: some }) => some.map((one) => ({ day, ...one })))

  test('asks fewer than without, and never more than daily asking', () => {
    const calls = (lends: boolean) =>
      replayNights(histories, { ...rules, lends }).reduce((sum, { asked }) => sum + asked.length, 0)
    expect(calls(true)).toBeLessThan(0.9 * calls(false))
    for (const { queries, asked } of nights) expect(asked.length).toBeLessThanOrEqual(queries)
  })

  test('lends only what was answered, of queries that are lent nothing that night, and says how old it is', () => {
    const asked = new Map<string, Set<number>>()
    for (const night of nights) {
      for (const id of night.asked) asked.set(id, (asked.get(id) ?? new Set()).add(night.day))
    }
    expect(lent.length).toBeGreaterThan(500)
    for (const { day, id, lender, age, drawn } of lent) {
      expect(asked.get(lender)?.has(day - age)).toBe(true)
      expect(asked.get(id)?.has(day) ?? false).toBe(drawn)
      expect(lent.some((one) => one.day === day && one.id === lender)).toBe(false)
    }
  })

  test('asks each twin itself within a week, whatever chance chooses', () => {
    const waits = histories.flatMap(({ id }) => {
      const at = nights.filter(({ asked }) => asked.includes(id)).map(({ day }) => day)
      return at.slice(1).map((day, index) => ({ id, from: at[index] ?? day, wait: day }))
    })
    const whileLent = waits.filter(({ id, from, wait }) =>
      lent.some((one) => one.id === id && one.day > from && one.day < wait),
    )
    expect(whileLent.length).toBeGreaterThan(100)
    for (const { from, wait } of whileLent) expect(wait - from).toBeLessThanOrEqual(7)
  })

  test('ends a twinship with the first difference that it sees', () => {
    const wrong = lent.filter(({ drawn, differences }) => drawn && differences !== 0)
    expect(wrong.length).toBeGreaterThan(0)
    for (const { id, lender, day } of wrong) {
      const again = lent.filter((one) => {
        return one.id === id && one.lender === lender && one.day > day && one.day < day + 10
      })
      expect(again).toEqual([])
    }
  })

  test('lends nothing unless it is told to', () => {
    const silent = replayNights(histories, { ...rules, lends: false })
    expect(silent.flatMap(({ lent: some }) => some)).toEqual([])
  })
})

describe('a hundred small lists that lend', () => {
  const lives = Array.from({ length: 100 }, (_, seed) => {
    const histories = listOf(`small ${seed}`, 16, 60)
    const nights = replayNights(histories, rules)
    const { lent } = sumUp(histories, nights, movesSeen(histories, nights))
    const all = nights.flatMap((night) => night.lent)
    const drawn = all.filter((one) => one.drawn && one.differences !== null)
    const isWrong = ({ differences }: { differences: number | null }) => (differences ?? 0) > 0
    return {
      lent,
      resting: all.length,
      wrong: all.filter(isWrong).length,
      drawn: drawn.length,
      moved: drawn.filter(isWrong).length,
    }
  })

  test('have as many wrong answers as those drawn by chance say, in 95 or more', () => {
    expect(lives.every(({ resting }) => resting > 0)).toBe(true)
    const held = lives.filter((life) => {
      const { low, high } = unseenOf(life).queries
      return low <= life.wrong && life.wrong <= high
    })
    expect(held.length).toBeGreaterThanOrEqual(95)
  })

  test('have a share of wrong answers that lies within the bounds of the backtest in 95 or more', () => {
    const sum = (of: (life: (typeof lives)[number]) => number) =>
      lives.reduce((total, life) => total + of(life), 0)
    const truth = sum(({ lent }) => lent.differed) / sum(({ lent }) => lent.compared)
    expect(truth).toBeGreaterThan(0)
    const held = lives.filter(({ lent: { wrong } }) => wrong.low <= truth && truth <= wrong.high)
    expect(held.length).toBeGreaterThanOrEqual(95)
  })
})
