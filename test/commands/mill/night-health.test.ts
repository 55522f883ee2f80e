import { describe, expect, test } from 'vitest'
import { judgeNight } from '../../../src/commands/mill/night-health.ts'
import { seeded } from '../../../src/service/random.ts'
import type { NightFigures } from '../../../src/store/nights/health.ts'

const good: NightFigures = {
  ...{ run_id: 1, asked: 100, answered: 98, empty: 1, unreadable: 0 },
  ...{ depth: 96, price: 1.1, minutes: 20, workers: 2 },
}

const odd = (night: Partial<NightFigures>, before = [good, good, good]) =>
  judgeNight({ ...good, ...night }, before)

describe('a night', () => {
  test.each([
    [
      { answered: 0, empty: 0, workers: 0 },
      'none of 100 queries was answered, and no worker was at work',
    ],
    [{ answered: 0, empty: 0 }, 'none of 100 queries was answered'],
    [{ answered: 60 }, '60 % of the queries were answered, usually 98 %'],
    [{ empty: 98, depth: null }, '100 % of the answers have no result, usually 1 %'],
    [{ answered: 50, unreadable: 48 }, '49 % of the answers cannot be read, usually 0 %'],
    [{ depth: 10 }, 'answers are 10 results deep, usually 96'],
    [{ price: 3.3 }, 'an answer cost 3.3 credits, usually 1.1'],
    [{ minutes: 300 }, 'it took 5.0 hours, usually 0.3'],
  ])('with %o is suspect: %s', (night, reason) => {
    expect(odd(night)).toContain(reason)
  })

  test('like those before it is not suspect, nor one of which nothing was to be bought', () => {
    expect(odd({})).toEqual([])
    expect(odd({ asked: 0, answered: 0, empty: 0 })).toEqual([])
  })

  test('without a past is suspect only where nearly all of it is wrong', () => {
    expect(odd({ answered: 60, depth: 3, price: 9 }, [])).toEqual([])
    expect(odd({ answered: 40 }, [])).toEqual(['40 % of the queries were answered'])
    expect(odd({ empty: 98 }, [good, good])).toEqual(['100 % of the answers have no result'])
  })
})

/** Sums as a night brings them by chance: of a list of 40, of which three in a hundred fail and as many are empty. */
function honest(random: () => number, run: number): NightFigures {
  const draw = (many: number, share: number) =>
    Array.from({ length: many }, () => random()).filter((one) => one < share).length
  const answered = 40 - draw(40, 0.03)
  return {
    ...{ run_id: run, asked: 40, answered, empty: draw(answered, 0.03), unreadable: draw(1, 0.05) },
    depth: 95 + 10 * (random() - 0.5),
    price: 1 + draw(40, 0.1) / 40,
    minutes: 2 + 20 * random() ** 3,
    workers: 1 + draw(3, 0.5),
  }
}

/** The nights judged one after the other, each by those before it that were not suspect. */
function judgeAll(series: readonly NightFigures[]): readonly number[] {
  const suspect: number[] = []
  const kept: NightFigures[] = []
  for (const night of series) {
    if (judgeNight(night, kept.slice(-14)).length > 0) suspect.push(night.run_id)
    else kept.push(night)
  }
  return suspect
}

function nights(seed: string, count: number): NightFigures[] {
  const random = seeded(seed)
  return Array.from({ length: count }, (_, index) => honest(random, index + 1))
}

describe('a series of nights', () => {
  test.each(['a', 'b', 'c', 'd', 'e'])(
    'of honest noise has at most one suspect in three hundred (%s)',
    (seed) => {
      expect(judgeAll(nights(seed, 300)).length).toBeLessThanOrEqual(1)
    },
  )

  test('shows each of six faults, and no other night', () => {
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
    expect(judgeAll(all)).toEqual(faults.map(([night]) => night))
  })
})
