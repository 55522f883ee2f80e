// @module-tag slow
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { run, start } from '../support/run.ts'
import { openScene, queries, type Scene } from '../support/scene.ts'

// Credits that are left above the floor when nothing more is bought, and the reasons.

const settings = { MILL_CREDIT_FLOOR: '100' }

async function books({ mill }: Scene) {
  const { rows } = await sql<{ uncertain: number; reserved: number }>`
    select uncertain, reserved from accounts`.execute(mill.db)
  return rows[0]
}

describe('an outlier among many prices', () => {
  test('stops nothing: calls go out one at a time until it is forgotten, and the account is spent to its floor', async () => {
    const scene = await openScene({ api: { credits: 9_100, cost: 1 }, settings })
    const { api, mill } = scene
    await mill.plan(queries(80))
    await mill.drain()
    api.set({ cost: 5_000 })
    await mill.plan(['an odd one'])
    await mill.drain()
    api.set({ cost: 1 })
    expect(api.balance()).toBe(4_020)
    await mill.plan(queries(300).slice(80))
    expect(await mill.drain()).toMatchObject({ finish: 'completed' })
    expect(api.balance()).toBe(3_800)
  })

  test('that occurs again is no outlier any more: no call goes out that could not pay it', async () => {
    const scene = await openScene({ api: { credits: 9_100, cost: 1 }, settings })
    const { api, mill } = scene
    await mill.plan(queries(80))
    await mill.drain()
    api.set({ cost: 3_000 })
    await mill.plan(['odd', 'odder'])
    await mill.drain()
    api.set({ cost: 1 })
    expect(api.balance()).toBe(3_020)
    await mill.plan(queries(100).slice(80))
    expect(await mill.drain()).toMatchObject({ finish: 'credit_floor' })
    expect(api.balance()).toBe(3_020)
  })
})

test('can be forgotten with all prices: the next call goes out alone and shows the price', async () => {
  const { api, mill } = await openScene({ api: { credits: 9_100, cost: 1 }, settings })
  await mill.plan(queries(40))
  await mill.drain()
  api.set({ cost: 4_000 })
  await mill.plan(['odd', 'odder'])
  await mill.drain()
  api.set({ cost: 1 })
  await mill.plan(queries(60).slice(40))
  expect(await mill.drain()).toMatchObject({ finish: 'credit_floor', answered: 0 })
  const { code, stderr } = await run('resume', ['--forget-prices'], mill.env)
  expect([code, stderr]).toEqual([0, expect.stringContaining('were forgotten')])
  expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 20 })
})

describe('after `resume`', () => {
  async function stopAtTheFloor() {
    const scene = await openScene({ api: { credits: 130, cost: 1 }, settings })
    await scene.mill.plan(queries(60))
    expect(await scene.mill.drain()).toMatchObject({ finish: 'credit_floor' })
    expect(scene.api.balance()).toBe(100)
    return scene
  }

  test.each([
    { loss: 'is lost', fault: { kind: 'drop', times: 1 } },
    { loss: 'ends in an error of the API', fault: { kind: 'status', status: 503, times: 1 } },
  ] as const)(
    'of an account that was topped up, a first call that $loss is repeated, and the account resumes',
    async ({ fault }) => {
      const { api, mill } = await stopAtTheFloor()
      api.set({ credits: 1_000, faults: [fault] })
      expect((await run('resume', [], mill.env)).code).toBe(0)
      expect(await mill.drain()).toMatchObject({ finish: 'completed' })
      expect(await mill.states()).toEqual({ answered: 60 })
    },
  )

  test('of an account that was not topped up, one call is made, and the account stops again', async () => {
    const { api, mill } = await stopAtTheFloor()
    expect((await run('resume', [], mill.env)).code).toBe(0)
    expect(await mill.drain()).toMatchObject({ finish: 'credit_floor', calls: 1 })
    expect(api.balance()).toBe(99)
    expect(await mill.drain()).toMatchObject({ finish: 'credit_floor', calls: 0 })
  })
})

describe('credits reserved for lost calls', () => {
  test('are reduced to the price of calls, once that is known', async () => {
    const scene = await openScene({
      api: {
        ...{ credits: 700, cost: 1 },
        faults: [{ kind: 'drop', match: 'lost' }],
      },
      settings: { ...settings, MILL_UNKNOWN: 'hold' },
    })
    const { api, mill } = scene
    await mill.plan(queries(5))
    await mill.drain()
    await mill.plan(Array.from({ length: 20 }, (_, n) => `lost ${n}`))
    await mill.drain()
    expect((await books(scene))?.uncertain).toBeGreaterThan(100)
    await mill.plan(queries(700).slice(5))
    expect(await mill.drain()).toMatchObject({ finish: 'credit_floor' })
    expect((await books(scene))?.uncertain).toBe(20)
    // Twenty calls may have been charged, so that much stays reserved.
    expect(api.balance()).toBeGreaterThanOrEqual(100)
    expect(api.balance()).toBeLessThanOrEqual(100 + 20 + 2)
  })
})

describe('calls that overlap', () => {
  test.each([
    { price: 'that cost one', cost: 1, credits: 450 },
    { price: 'that cost five', cost: 5, credits: 600 },
  ])(
    '$price, of four workers with sixteen lanes, leave less unspent than the price of two more of them',
    async ({ cost, credits }) => {
      const { api, mill } = await openScene({
        api: { credits, cost, delayMs: { least: 400, most: 1_200 }, chargeAt: 'between' },
        settings: { ...settings, MILL_CONCURRENCY: '16' },
      })
      await mill.plan(queries(600))
      const crew = [1, 2, 3, 4].map(() => start('work', ['--drain'], mill.env))
      const ends = await Promise.all(crew.map(({ ended }) => ended))
      expect(ends.map(({ code }) => code)).toEqual([3, 3, 3, 3])
      expect(api.least()).toBeGreaterThanOrEqual(100)
      // A stopped account resumes once there are credits for two of the most expensive calls above the floor.
      expect(api.balance() - 100).toBeLessThan(2 * cost)
    },
  )
})
