import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decideNight,
  type FirstTen,
  type KnownQuery,
  stepBetween,
} from '../../../src/features/cadence/night.ts'
import { type QueryHistory, replayNights } from '../../../src/features/cadence/replay.ts'
import { firstDay } from '../../support/histories.ts'

const rules = { list: 'words', longest: 14, share: 1 }
const still = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
const moved = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11]

/** A query with an answer on each of some days, and the pages of each answer. */
function known(
  id: string,
  answers: readonly (readonly [day: number, pages: number[]])[],
): KnownQuery {
  const firstTens = answers.map(([day, pages]): FirstTen => ({
    day: firstDay + day,
    depth: 20,
    pages,
  }))
  const steps = firstTens.slice(1).flatMap((firstTen, index) => {
    const before = firstTens[index]
    return (before === undefined ? null : stepBetween(before, firstTen)) ?? []
  })
  return {
    id,
    spread: 0,
    steps,
    last: firstTens.at(-1) ?? null,
    before: firstTens.at(-2) ?? null,
  }
}

const days = (count: number) => Array.from({ length: count }, (_, day) => day)
const quiet = (id: string, nights: number, pages = still) =>
  known(
    id,
    days(nights).map((day) => [day, pages] as const),
  )

function decide(queries: readonly KnownQuery[], day: number, more: Partial<typeof rules> = {}) {
  return decideNight(queries, firstDay + day, { ...rules, ...more })
}

describe('a night of an adaptive list', () => {
  test('buys a query that was never answered, and one that was answered once, as a daily cadence does', () => {
    const decided = decide([known('never', []), quiet('once', 1)], 1)
    expect(decided.map(({ interval, due }) => [interval, due - firstDay])).toEqual([
      [1, 1],
      [1, 1],
    ])
  })

  test('buys all queries of a new list for five nights, whatever share this costs', () => {
    const intervals = [2, 5, 6, 7].map((nights) => {
      return decide([quiet('new', nights)], nights, { share: 0.1 })[0]?.interval
    })
    expect(intervals).toEqual([1, 1, 14, 14])
  })

  test('skips a query longer the longer nothing moved, and never longer than the list allows', () => {
    const after = [3, 10, 59].map((nights) => decide([quiet('quiet', nights)], nights)[0]?.interval)
    expect(after).toEqual([1, 2, 3])
    const poor = { share: 0.01 }
    expect(decide([quiet('quiet', 40)], 40, poor)[0]?.interval).toBe(14)
    expect(decide([quiet('quiet', 40)], 40, { ...poor, longest: 5 })[0]?.interval).toBe(5)
  })

  test('buys again the next night once something moved, until it has been stable for a while', () => {
    const calm = days(40).map((day) => [day, still] as const)
    const at = (nights: number) => {
      const since = days(nights).map((ago) => [40 + ago, moved] as const)
      return decide([known('moved', [...calm, ...since])], 40 + nights)[0]?.interval
    }
    expect([at(1), at(4), at(20)]).toEqual([1, 1, 2])
  })

  test('buys a skipped query early if another with the same pages has moved since, and no unrelated ones', () => {
    const calm = days(40).map((day) => [day, still] as const)
    const neighbour = quiet('neighbour', 40)
    const stranger = quiet(
      'stranger',
      40,
      still.map((page) => page + 100),
    )
    const mover = known('mover', [...calm, [40, moved]])
    const decided = decide([neighbour, stranger, mover], 41, { share: 0.1 })
    expect(decided[0]).toMatchObject({ due: firstDay + 41, interval: 1, byChance: false })
    expect(decided[0]?.why).toContain('to a related query')
    expect(decided[1]?.due).toBeGreaterThan(firstDay + 41)
  })

  test('samples one in twenty of the skipped queries at random, the same ones each time', () => {
    const queries = days(2000).map((index) => quiet(`query ${index}`, 40))
    const decided = decide(queries, 40, { share: 0.1 })
    const chosen = decided.filter(({ byChance }) => byChance)
    expect(chosen.length).toBeGreaterThan(60)
    expect(chosen.length).toBeLessThan(140)
    expect(decide(queries, 40, { share: 0.1 })).toEqual(decided)
    const other = decide(queries, 41, { share: 0.1 }).filter(({ byChance }) => byChance)
    expect(other.map(({ id }) => id)).not.toEqual(chosen.map(({ id }) => id))
  })

  test('buys a query whose newest answer is dated later than the night itself', () => {
    const [decision] = decide([quiet('ahead', 40)], 20)
    expect(decision).toMatchObject({ due: firstDay + 20, interval: 1 })
  })

  test('counts an empty answer as no change, because it cannot be compared', () => {
    const empty: FirstTen = { day: 2, depth: 0, pages: [] }
    expect(stepBetween({ day: 1, depth: 20, pages: still }, empty)).toBeNull()
  })

  test('compares two answers only down to the depth of the shallower one', () => {
    const shallow: FirstTen = { day: 2, depth: 3, pages: [1, 2, 4] }
    expect(stepBetween({ day: 1, depth: 20, pages: still }, shallow)?.moves).toBe(2)
    expect(
      stepBetween({ day: 1, depth: 20, pages: still }, { ...shallow, pages: [1, 2, 3] })?.moves,
    ).toBe(0)
  })
})

const aFirstTen = fc.record({
  day: fc.integer({ min: 0, max: 30 }),
  depth: fc.integer({ min: 0, max: 20 }),
  pages: fc.array(fc.integer({ min: 1, max: 15 }), { maxLength: 10 }),
})
const aHistory = fc.uniqueArray(aFirstTen, { selector: ({ day }) => day, maxLength: 20 })

describe('a replay', () => {
  test('buys only what a daily cadence buys, however the members change, and each query once it is new', () => {
    const aList = fc.array(aHistory, { maxLength: 6 })
    fc.assert(
      fc.property(aList, fc.integer({ min: 1, max: 20 }), (lives, longest) => {
        const histories = lives.map((firstTens, index): QueryHistory => {
          return { id: `${index}`, firstTens: firstTens.toSorted((a, b) => a.day - b.day) }
        })
        const nights = replayNights(histories, { ...rules, longest })
        for (const { day, asked, queries } of nights) {
          const held = histories.filter(({ firstTens }) =>
            firstTens.some((firstTen) => firstTen.day === day),
          )
          expect(held.map(({ id }) => id)).toEqual(expect.arrayContaining([...asked]))
          expect(asked.length).toBeLessThanOrEqual(queries)
        }
        for (const { id, firstTens } of histories) {
          const first = firstTens[0]?.day
          if (first === undefined) continue
          expect(nights.find(({ day }) => day === first)?.asked).toContain(id)
        }
      }),
    )
  })

  test('of one day buys every query once, and saves nothing', () => {
    const firstTens = [{ day: firstDay, depth: 20, pages: still }]
    const nights = replayNights([{ id: 'one', firstTens }], rules)
    expect(nights).toEqual([{ day: firstDay, queries: 1, asked: ['one'], byChance: [] }])
  })

  test('of a list with different members each night buys each of them', () => {
    const lives = days(30).map((day): QueryHistory => {
      return { id: `${day}`, firstTens: [{ day: firstDay + day, depth: 20, pages: still }] }
    })
    expect(replayNights(lives, rules).every(({ asked, queries }) => asked.length === queries)).toBe(
      true,
    )
  })

  test('of a list that is bought once a week buys as often, because every interval is over by then', () => {
    const firstTens = days(20).map((week) => {
      return { day: firstDay + 7 * week, depth: 20, pages: still }
    })
    const nights = replayNights([{ id: 'weekly', firstTens }], { ...rules, longest: 7 })
    expect(nights.filter(({ asked }) => asked.length === 1)).toHaveLength(20)
  })
})
