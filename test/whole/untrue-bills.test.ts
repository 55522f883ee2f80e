// @module-tag slow
// Replies with wrong prices or for another query, keys of other accounts, and two accounts on one database.
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { conserveCredits } from '../../src/features/verify/command.ts'
import { startFaulty } from '../faults/api/standin.ts'
import { testMill, type TestMill } from '../support/mill.ts'
import { verifyPromises } from '../support/promises.ts'
import { openScene, queries } from '../support/scene.ts'
import { onTestFinished } from 'vitest'

const floor = 100
const settings = { MILL_CREDIT_FLOOR: String(floor) }

async function brokenPromises(mill: TestMill): Promise<string[]> {
  return (await verifyPromises(mill.db)).filter(({ ok }) => !ok).map(({ name }) => name)
}

describe('an API that reports too low a price', () => {
  test('is not used below the floor as long as its balance is true', async () => {
    const { api, mill } = await openScene({
      api: {
        ...{ credits: 1_500, cost: 3, delayMs: { least: 5, most: 60 }, chargeAt: 'between' },
        faults: [{ kind: 'credits', field: 'used', value: 'zero' }],
      },
      settings: { ...settings, MILL_CONCURRENCY: '50' },
    })
    await mill.plan(queries(600))
    expect((await mill.drain()).finish).toBe('credit_floor')
    expect(api.least()).toBeGreaterThanOrEqual(floor)
    // Most of the available credits are used anyway.
    expect(api.least()).toBeLessThanOrEqual(floor + 400)
    expect(await brokenPromises(mill)).toEqual([])
  })

  test.each([
    ['missing', 1],
    ['missing', 8],
    ['float', 1],
    ['float', 8],
  ] as const)(
    'is used if the price is %s, and the fall of the balance is the price, with %d lanes',
    async (value, lanes) => {
      const { api, mill } = await openScene({
        api: { credits: 1_000, cost: 3, faults: [{ kind: 'credits', field: 'used', value }] },
        settings: { ...settings, MILL_CONCURRENCY: String(lanes) },
      })
      await mill.plan(queries(80))
      expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 80 })
      const { rows } = await sql<{ used: number }>`
        select used_total as used from accounts`.execute(mill.db)
      // Never too low. At most too high by the answers that crossed it or were not stored yet: one per lane.
      expect(rows[0]?.used).toBeGreaterThanOrEqual(240)
      expect(rows[0]?.used).toBeLessThanOrEqual(240 * (lanes + 1))
      expect(api.balance()).toBe(760)
      expect(await brokenPromises(mill)).toEqual([])
    },
  )

  test('is used if every balance has decimals', async () => {
    const { mill } = await openScene({
      api: { credits: 1_000, faults: [{ kind: 'credits', value: 'float' }] },
      settings,
    })
    await mill.plan(queries(40))
    expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 40 })
  })
})

test.each([0.4, 0.999, 1.25, 2.5])(
  'an API whose price is %d is used down to the floor; the balance shown is accurate to one credit, and the sums are too high by less than one credit per call',
  async (cost) => {
    const { api, mill } = await openScene({
      api: { credits: 130, cost },
      settings: { ...settings, MILL_CONCURRENCY: '4' },
    })
    await mill.plan(queries(100))
    const { finish, credits_remaining: shown } = await mill.drain()
    expect(finish).toBe('credit_floor')
    expect(api.least()).toBeGreaterThanOrEqual(floor)
    expect(api.least()).toBeLessThan(floor + 3 * Math.ceil(cost) + 4)
    const [credits] = await conserveCredits(mill.db)
    const calls = api.charges().length
    expect(credits).toMatchObject({
      used: calls * Math.ceil(cost),
      closing: Math.floor(api.balance()),
    })
    expect(shown).toBe(Math.floor(api.balance()))
    expect(await brokenPromises(mill)).toEqual([])
  },
)

test('a budget ends early, never late, if the price has decimals', async () => {
  const { api, mill } = await openScene({ api: { credits: 10_000, cost: 1.25 } })
  await mill.plan(queries(60), { budget: 50 })
  await mill.drain()
  const spent = 10_000 - api.balance()
  expect(spent).toBeLessThanOrEqual(50)
  // Each call counts as two credits.
  expect(api.charges()).toHaveLength(25)
})

/** Two accounts at one API under one name, each with its own balance and key, on one database. */
async function openKeys(rich: number, poor: number) {
  const shared = { ...settings, MILL_ACCOUNT: 'shared' }
  const { api, mill } = await openScene({
    api: { credits: rich, delayMs: 40 },
    settings: { ...shared, MILL_CONCURRENCY: '4' },
  })
  const other = await startFaulty({ seed: 'other', credits: poor, kind: 'live', cost: 1 })
  onTestFinished(() => other.close())
  const database = {
    db: mill.db,
    pool: mill.pool,
    url: mill.databaseUrl,
    close: async () => undefined,
  }
  const second = await testMill({ api: other, database, settings: shared })
  onTestFinished(() => second.close())
  return { rich: { api, mill }, poor: { api: other, mill: second } }
}

describe('a key of another account', () => {
  test('that replaces the key is used once to read its balance, which counts from then on', async () => {
    const { rich, poor } = await openKeys(50_000, 130)
    await rich.mill.plan(queries(60))
    expect((await rich.mill.drain()).finish).toBe('completed')
    await poor.mill.plan(queries(200), { list: 'second' })
    expect((await poor.mill.drain()).finish).toBe('credit_floor')
    expect(poor.api.least()).toBe(floor)
  })

  test('beside the key in use stops after one call, and says that MILL_ACCOUNT names its account', async () => {
    const { rich, poor } = await openKeys(50_000, 130)
    await rich.mill.plan(queries(200))
    const buying = rich.mill.drain()
    await expect.poll(() => rich.api.charges().length).toBeGreaterThan(20)
    const said: string[] = []
    const tell = (line: string) => void said.push(line)
    expect((await poor.mill.drain({ report: tell })).finish).toBe('auth')
    expect(poor.api.least()).toBe(129)
    const { rows } = await sql<{ detail: string }>`
      select detail from stops where reason = 'auth'`.execute(poor.mill.db)
    expect(rows[0]?.detail).toMatch(/129 credits.*MILL_ACCOUNT/)
    expect((await buying).finish).toBe('completed')
    expect(rich.api.balance()).toBe(50_000 - rich.api.charges().length)
  })

  test('beside the key in use leaves a ledger that passes every check', async () => {
    const { rich, poor } = await openKeys(50_000, 130)
    await rich.mill.plan(queries(60))
    expect((await rich.mill.drain()).finish).toBe('completed')
    await sql`
      update workers set stopped_at = null, lease_until = clock_timestamp() + interval '1 hour'
    `.execute(rich.mill.db)
    await poor.mill.plan(queries(10), { list: 'second' })
    expect((await poor.mill.drain()).finish).toBe('auth')
    expect(await brokenPromises(poor.mill)).toEqual([])
  })
})

test('an API that answers another query under an idempotency key is not queried again for lost answers', async () => {
  const { api, mill } = await openScene({
    api: {
      replays: true,
      faults: [
        { kind: 'echo', only: [3] },
        { kind: 'drop', from: 20, until: 23 },
      ],
    },
    settings: { MILL_CONCURRENCY: '2' },
  })
  await mill.plan(queries(40))
  expect(await mill.drain()).toMatchObject({ finish: 'completed', answered: 40 })
  const { rows } = await sql`
    select
      (select wrong_answers from accounts) as wrong,
      (select replay_ms from accounts) as replays,
      (select max(asked_again) from calls) as again`.execute(mill.db)
  expect(rows).toEqual([{ wrong: 1, replays: null, again: 0 }])
  expect(api.charges().filter(({ what }) => what === 'replayed')).toEqual([])
})

test('two accounts on one database with the same queries buy each of them once', async () => {
  const { api, mill } = await openScene({
    api: { delayMs: { least: 5, most: 80 } },
    settings: { MILL_ACCOUNT: 'first' },
  })
  const database = {
    db: mill.db,
    pool: mill.pool,
    url: mill.databaseUrl,
    close: async () => undefined,
  }
  const second = await testMill({ api, database, settings: { MILL_ACCOUNT: 'second' } })
  onTestFinished(() => second.close())
  const maxAgeMs = 86_400_000
  await mill.plan(queries(300), { maxAgeMs })
  await mill.plan(queries(300), { maxAgeMs, list: 'second' })
  await Promise.all([mill.drain(), second.drain()])
  expect(await mill.states()).toEqual({ answered: 300, reused: 300 })
  expect(api.charges()).toHaveLength(300)
  expect(await brokenPromises(mill)).toEqual([])
})

test('a database clock set back by a day during calls dates no answer before its call', async () => {
  const { mill } = await openScene({ api: { delayMs: 3_000 }, settings: { MILL_CONCURRENCY: '4' } })
  await mill.plan(['one'])
  const draining = mill.drain()
  // As if the clock had been a day ahead when the calls were reserved.
  await expect
    .poll(async () => {
      const { numAffectedRows } = await sql`
        update calls set sent_at = clock_timestamp() + interval '1 day' where outcome is null`.execute(
        mill.db,
      )
      return Number(numAffectedRows)
    })
    .toBe(1)
  expect((await draining).answered).toBe(1)
  expect(await brokenPromises(mill)).toEqual([])
})
