import { describe, expect, test } from 'vitest'
import type { JudgedNight, NightFigures } from '../../../src/core/nights/health.ts'
import { findingsOf, judgementOf } from '../../../src/core/nights/judge.ts'
import { seeded } from '../../../src/base/random.ts'

const good: NightFigures = {
  ...{ run_id: 1, asked: 100, answered: 98, empty: 1, unreadable: 0 },
  ...{ depth: 96, price: 1.1, minutes: 20, paused_minutes: 0, workers: 2 },
}

function judgeNight(...[night, before]: Parameters<typeof findingsOf>) {
  return judgementOf(night, findingsOf(night, before))
}

/** Nothing is known about unreadable answers. */
const noFlaws = { paid_refusal: 0, other_query: 0 }

const judge = (night: Partial<JudgedNight>, usual = [good, good, good]) =>
  judgeNight({ ...good, ...noFlaws, ...night }, { usual, last: usual.slice(0, 2) })
const odd = (night: Partial<JudgedNight>, usual?: NightFigures[]) => judge(night, usual).reasons

describe('a night', () => {
  test.each([
    [{ answered: 0, empty: 0 }, 'none of the 100 queries was answered'],
    [{ answered: 60 }, '60 % of the queries were answered, usually 98 %'],
    [{ empty: 98, depth: null }, '100 % of the answers have no results, usually 1 %'],
    [{ answered: 50, unreadable: 48 }, '49 % of the answers cannot be read, usually 0 %'],
    [
      { answered: 50, unreadable: 48, other_query: 40, paid_refusal: 8 },
      '49 % of the answers cannot be read, usually 0 % (40 for another query, 8 refused by the API and charged)',
    ],
    [{ depth: 10 }, 'answers are 10 results deep, usually 96'],
  ])('with %o is suspect: %s', (night, reason) => {
    expect(odd(night)).toContain(reason)
  })

  test.each([
    [{ price: 3.3 }, 'an answer cost 3.3 credits, usually 1.1'],
    [{ minutes: 300 }, 'it took 5.0 hours, usually 0.3'],
    [{ minutes: 600, paused_minutes: 300 }, 'it took 5.0 hours, usually 0.3'],
  ])('with %o is odd, and not suspect: %s', (night, remark) => {
    expect(judge(night)).toEqual({ reasons: [], remarks: [remark], usualFrom: null })
  })

  test('is not slow because of paused time', () => {
    expect(judge({ minutes: 420, paused_minutes: 390 })).toMatchObject({ remarks: [] })
  })

  test('like earlier ones is not odd, nor is one that had nothing to buy', () => {
    const fine = { reasons: [], remarks: [], usualFrom: null }
    expect(judge({})).toEqual(fine)
    expect(judge({ asked: 0, answered: 0, empty: 0 })).toEqual(fine)
  })

  test('without earlier nights is suspect only if nearly all of it is wrong', () => {
    expect(odd({ answered: 60, depth: 3, price: 9 }, [])).toEqual([])
    expect(odd({ answered: 40 }, [])).toEqual(['40 % of the queries were answered'])
    expect(odd({ empty: 98 }, [good, good])).toEqual(['100 % of the answers have no results'])
  })
})

/** Random figures of normal nights of a list of 40 queries, of which 3 % fail and 3 % are empty. */
function honest(random: () => number, run: number): NightFigures {
  const draw = (many: number, share: number) =>
    Array.from({ length: many }, () => random()).filter((one) => one < share).length
  const answered = 40 - draw(40, 0.03)
  return {
    ...{ run_id: run, asked: 40, answered, empty: draw(answered, 0.03), unreadable: draw(1, 0.05) },
    depth: 95 + 10 * (random() - 0.5),
    price: 1 + draw(40, 0.1) / 40,
    minutes: 2 + 20 * random() ** 3,
    paused_minutes: 0,
    workers: 1 + draw(3, 0.5),
  }
}

/** Judges the nights in order, each compared with those before it: which are suspect, and which only odd. */
function judgeAll(series: readonly NightFigures[]) {
  const suspect: number[] = []
  const only: number[] = []
  let usual: NightFigures[] = []
  for (const [index, night] of series.entries()) {
    const last = series.slice(0, index).slice(-2).toReversed()
    const { reasons, remarks, usualFrom } = judgeNight(
      { ...night, ...noFlaws },
      { usual: usual.slice(0, 14), last },
    )
    if (reasons.length > 0) suspect.push(night.run_id)
    else if (remarks.length > 0) only.push(night.run_id)
    if (usualFrom !== null) usual = [night, ...last]
    else if (reasons.length + remarks.length === 0) usual.unshift(night)
  }
  return { suspect, only }
}

function nights(seed: string, count: number): NightFigures[] {
  const random = seeded(seed)
  return Array.from({ length: count }, (_, index) => honest(random, index + 1))
}

describe('a series of nights', () => {
  test.each(['a', 'b', 'c', 'd', 'e'])(
    'with random noise has at most one suspect in three hundred (%s)',
    (seed) => {
      const { suspect, only } = judgeAll(nights(seed, 300))
      expect(suspect.length + only.length).toBeLessThanOrEqual(1)
    },
  )

  test('shows each of six faults, and reports no other night', () => {
    const faults: readonly [number, Partial<NightFigures>][] = [
      [6, { empty: 40, answered: 40, depth: null }],
      [10, { depth: 10 }],
      [14, { answered: 24, empty: 0 }],
      [18, { answered: 0, empty: 0, unreadable: 0, depth: null, price: null, workers: 0 }],
      [22, { answered: 0, empty: 0, unreadable: 40, depth: null }],
      [26, { price: 3 }],
    ]
    const broken = new Map(faults)
    const all = nights('month', 30).map((night) => ({ ...night, ...broken.get(night.run_id) }))
    expect(judgeAll(all)).toEqual({ suspect: [6, 10, 14, 18, 22], only: [26] })
  })

  const from = (first: number, change: Partial<NightFigures>) =>
    nights('change', 30).map((night) => (night.run_id < first ? night : { ...night, ...change }))

  test.each([
    ['shallower answers', { depth: 10 }],
    ['more empty answers', { answered: 40, empty: 25 }],
    ['a budget that pays for a third', { answered: 13, empty: 0 }],
  ])('with %s from one night on has two suspect nights', (_, change) => {
    expect(judgeAll(from(10, change))).toEqual({ suspect: [10, 11], only: [12] })
  })

  test.each([
    ['a new price', { price: 4 }],
    ['a slower API', { minutes: 300 }],
  ])('with %s from one night on has no suspect night, and three are reported', (_, change) => {
    expect(judgeAll(from(10, change))).toEqual({ suspect: [], only: [10, 11, 12] })
  })

  test('with different odd nights has each of them suspect', () => {
    const depths = new Map([10, 20, 40, 10, 20].map((depth, index) => [10 + index, depth]))
    const all = nights('unlike', 20).map((night) => ({
      ...night,
      depth: depths.get(night.run_id) ?? night.depth,
    }))
    expect(judgeAll(all)).toEqual({ suspect: [10, 11, 12, 13, 14], only: [] })
  })

  test('with nights odd in one figure and bad in another stays suspect until all of it is similar', () => {
    const all = from(10, { price: 4 }).map((night) =>
      night.run_id === 11 ? { ...night, depth: 10 } : night,
    )
    expect(judgeAll(all)).toEqual({ suspect: [11], only: [10, 12, 13, 14] })
  })

  test('with two thirds or more empty answers stays suspect only if nearly all are', () => {
    expect(judgeAll(from(10, { answered: 40, empty: 38, depth: 90 })).suspect).toHaveLength(21)
    expect(judgeAll(from(10, { answered: 40, empty: 34, depth: 90 })).suspect).toEqual([10, 11])
  })

  test('with a budget for a third of it from its first night on has two suspect nights', () => {
    expect(judgeAll(from(1, { answered: 13, empty: 0 })).suspect).toEqual([1, 2])
  })
})
