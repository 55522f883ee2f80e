// @module-tag slow
import { describe, expect, test } from 'vitest'
import { aheadOf, mostFlying, mostUnwritten, slotsFor } from '../../../src/core/worker/batch.ts'
import { verifyPromises } from '../../support/promises.ts'
import { openScene, queries } from '../../support/scene.ts'

const free = { rateLimit: null, mostInFlight: null }

describe('calls that are ready for a free lane', () => {
  test('are a quarter of the lanes, if there are more than sixteen', () => {
    expect([1, 8, 17, 50, 500].map((lanes) => aheadOf(lanes, free))).toEqual([0, 0, 4, 12, 125])
  })

  test('are none under a rate limit, which counts from the reservation', () => {
    expect(aheadOf(500, { ...free, rateLimit: 100 })).toBe(0)
    expect(aheadOf(500, { ...free, mostInFlight: 100 })).toBe(0)
  })

  test('are limited together with everything that may wait to be stored', () => {
    for (const lanes of [1, 8, 17, 50, 200, 500]) {
      expect(slotsFor(lanes) * 25).toBeGreaterThanOrEqual(mostFlying(lanes, aheadOf(lanes, free)))
    }
    expect(slotsFor(4)).toBe(2)
  })
})

test('a worker whose answers cannot be stored stops buying, and loses none of them', async () => {
  const lanes = 32
  const { api, mill } = await openScene({ settings: { MILL_CREDIT_FLOOR: '0' } })
  // Balance and price must be known before dozens of calls go out.
  await mill.plan(queries(60))
  await mill.drain({ lanes })
  const bought = () => api.charges().length - 60
  await mill.plan(queries(600).map((q) => `later ${q}`))
  const blocker = await mill.pool.connect()
  await blocker.query('begin')
  // Answers wait for this table; reservations do not.
  await blocker.query('lock table raw_answers in access exclusive mode')
  const stop = new AbortController()
  const work = mill.drain({ lanes, signal: stop.signal })
  try {
    await expect.poll(bought).toBeGreaterThanOrEqual(mostUnwritten(lanes))
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(bought()).toBeLessThanOrEqual(mostFlying(lanes, aheadOf(lanes, free)))
  } catch (error) {
    stop.abort()
    throw error
  } finally {
    await blocker.query('rollback')
    blocker.release()
  }
  expect(await work).toMatchObject({ finish: 'completed', answered: 600 })
  expect(bought()).toBe(600)
  const checks = await verifyPromises(mill.db)
  expect(checks.filter(({ ok }) => !ok)).toEqual([])
})
