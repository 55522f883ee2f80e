// @module-tag slow
import { expect, test } from 'vitest'
import { startFaulty } from '../faults/api/standin.ts'
import { testMill } from '../support/mill.ts'
import { start } from '../support/run.ts'

interface Span {
  readonly at: number
  readonly ended_at: number | null
}

/** The maximum number of concurrent requests. */
function mostAtOnce(spans: readonly Span[]): number {
  const steps = spans.flatMap(({ at, ended_at: end }) => [
    { time: at, by: 1 },
    { time: end ?? at, by: -1 },
  ])
  steps.sort((a, b) => a.time - b.time || a.by - b.by)
  let now = 0
  let most = 0
  for (const { by } of steps) {
    now += by
    most = Math.max(most, now)
  }
  return most
}

// With more than sixteen lanes, calls are reserved before a lane is free, so they count in the ledger long before they
// are sent.
test.each([16, 24])(
  'four processes with %i calls in flight each, at random prices, never go below the floor according to the API',
  async (lanes) => {
    const api = await startFaulty({
      seed: `floor ${lanes}`,
      credits: 1_500,
      kind: 'live',
      cost: { least: 1, most: 3 },
      delayMs: { least: 100, most: 900 },
      chargeAt: 'between',
    })
    const settings = { MILL_CREDIT_FLOOR: '100', MILL_CONCURRENCY: String(lanes) }
    const mill = await testMill({ api, settings })
    try {
      await mill.plan(Array.from({ length: 1_200 }, (_, index) => `query ${index + 1}`))
      const crew = Array.from({ length: 4 }, () => start('work', ['--drain'], mill.env))
      const ends = await Promise.all(crew.map(({ ended }) => ended))
      expect(ends.map(({ code }) => code)).toEqual([3, 3, 3, 3])
      expect(api.least()).toBeGreaterThanOrEqual(100)
      // One reservation per lane may stay unspent because of uncertainty.
      expect(api.least()).toBeLessThanOrEqual(100 + 4 * lanes * 3)
      expect(mostAtOnce(api.charges())).toBeGreaterThan(2 * lanes)
      expect(mostAtOnce(api.charges())).toBeLessThanOrEqual(4 * lanes)
      const charged = new Set(api.charges().map(({ q }) => q))
      expect(charged.size).toBe(api.charges().length)
    } finally {
      await mill.close()
      await api.close()
    }
  },
)
