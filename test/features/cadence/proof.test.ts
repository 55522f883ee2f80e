// @module-tag slow
// Evaluation of the cadence: histories with known changes, bought daily and by their cadence.
import { describe, expect, test } from 'vitest'
import { type FirstTen, stepBetween, usualShare } from '../../../src/features/cadence/night.ts'
import {
  movesSeen,
  type ReplayedNight,
  replayNights,
  sumUp,
  unseenOf,
} from '../../../src/features/cadence/replay.ts'
import { type MadeHistory, makeHistories, type Mix } from '../../support/histories.ts'

/** Savings and losses of an adaptive cadence. */
type Receipt = ReturnType<typeof sumUp>

const rules = { list: 'proof', longest: 14, share: usualShare }

function receiptOf(histories: readonly MadeHistory[]): Receipt {
  const nights = replayNights(histories, rules)
  return sumUp(histories, nights, movesSeen(histories, nights))
}

const none: Mix = {
  ...{ stable: 0, weekly: 0, seasonal: 0, burst: 0, regime: 0, busy: 0, flicker: 0 },
}

describe('two hundred queries over two hundred nights', () => {
  test.each(['a', 'b', 'c'])(
    'of every kind show 95 of 100 moves within two nights, for half of the credits (%s)',
    (seed) => {
      const receipt = receiptOf(makeHistories({ seed, queries: 200, nights: 200 }))
      expect(receipt.moves).toBeGreaterThan(10_000)
      expect(receipt.calls / receipt.daily_calls).toBeLessThanOrEqual(0.5)
      expect(receipt.in_time / receipt.moves).toBeGreaterThanOrEqual(0.95)
    },
  )

  test('that are mostly stable show as many for half of the credits', () => {
    const mix = { ...none, stable: 80, weekly: 5, seasonal: 5, burst: 5, regime: 3, busy: 2 }
    const receipt = receiptOf(makeHistories({ seed: 'quiet', queries: 200, nights: 200, mix }))
    expect(receipt.calls / receipt.daily_calls).toBeLessThanOrEqual(0.5)
    expect(receipt.in_time / receipt.moves).toBeGreaterThanOrEqual(0.95)
  })

  test('of which a fifth shows pages for a night or two hide more than that, and stay within half of the credits', () => {
    // Buying every second night can't show what appears and disappears in between, and the results say so.
    const mix = {
      ...none,
      stable: 40,
      weekly: 10,
      seasonal: 10,
      burst: 10,
      regime: 10,
      flicker: 20,
    }
    const receipt = receiptOf(makeHistories({ seed: 'flicker', queries: 200, nights: 200, mix }))
    expect(receipt.calls / receipt.daily_calls).toBeLessThanOrEqual(0.5)
    expect(receipt.in_time / receipt.moves).toBeGreaterThanOrEqual(0.9)
    expect(receipt.never / receipt.moves).toBeGreaterThan(0.05)
  })
})

/** A small history, the result of its backtest, and the moves that its nights really hid. */
function liveSmall(seed: string) {
  const histories = makeHistories({ seed, queries: 40, nights: 60 })
  const nights = replayNights(histories, rules)
  const receipt = sumUp(histories, nights, movesSeen(histories, nights))
  return { receipt, hidden: hiddenIn(histories, nights) }
}

interface Hidden {
  readonly resting: number
  readonly hiding: number
  readonly drawn: number
  readonly moved: number
}

function hiddenIn(
  histories: readonly MadeHistory[],
  nights: readonly ReplayedNight[],
): readonly Hidden[] {
  const last = new Map<string, FirstTen>()
  const days = new Map(
    histories.map(({ id, firstTens }) => [id, new Map(firstTens.map((s) => [s.day, s]))]),
  )
  return nights.map(({ day, asked, byChance }) => {
    const night = { resting: 0, hiding: 0, drawn: 0, moved: 0 }
    for (const [id, firstTens] of days) {
      const now = firstTens.get(day)
      const before = last.get(id)
      if (now === undefined) continue
      const isDrawn = byChance.includes(id)
      if (asked.includes(id)) last.set(id, now)
      if (before === undefined || (asked.includes(id) && !isDrawn)) continue
      const moves = (stepBetween(before, now)?.moves ?? 0) > 0
      night.resting += 1
      if (moves) night.hiding += 1
      if (isDrawn) night.drawn += 1
      if (isDrawn && moves) night.moved += 1
    }
    return night
  })
}

describe('a hundred small histories', () => {
  const lives = Array.from({ length: 100 }, (_, index) => liveSmall(`small ${index}`))
  const sum = (of: (receipt: Receipt) => number) =>
    lives.reduce((total, { receipt }) => total + of(receipt), 0)
  const truths = {
    saved: 1 - sum(({ calls }) => calls) / sum(({ daily_calls: daily }) => daily),
    seen_in_time: sum(({ in_time: seen }) => seen) / sum(({ moves }) => moves),
    never_seen: sum(({ never }) => never) / sum(({ moves }) => moves),
  }

  test.each(['saved', 'seen_in_time', 'never_seen'] as const)(
    'have true values within the bounds of the backtest in 95 or more: %s',
    (figure) => {
      const truth = truths[figure]
      const held = lives.filter(({ receipt }) => {
        return receipt[figure].low <= truth && truth <= receipt[figure].high
      })
      expect(held.length).toBeGreaterThanOrEqual(95)
      // Bounds that always hold because they are too wide would prove nothing.
      expect(lives.every(({ receipt }) => receipt[figure].high - receipt[figure].low < 0.3)).toBe(
        true,
      )
    },
  )

  test('hide as many moves in skipped queries as the random sample estimates, in 95 or more', () => {
    const held = lives.filter(({ hidden }) => {
      const all = hidden.reduce((total, night) => ({
        resting: total.resting + night.resting,
        hiding: total.hiding + night.hiding,
        drawn: total.drawn + night.drawn,
        moved: total.moved + night.moved,
      }))
      const { low, high } = unseenOf(all).queries
      return low <= all.hiding && all.hiding <= high
    })
    expect(held.length).toBeGreaterThanOrEqual(95)
  })

  test('do so in 95 of 100 of their single nights', () => {
    const nights = lives.flatMap(({ hidden }) => hidden.filter(({ resting }) => resting > 0))
    const held = nights.filter((night) => {
      const { low, high } = unseenOf(night).queries
      return low <= night.hiding && night.hiding <= high
    })
    expect(nights.length).toBeGreaterThan(4000)
    expect(held.length / nights.length).toBeGreaterThanOrEqual(0.95)
  })
})
