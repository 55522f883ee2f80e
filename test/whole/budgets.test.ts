// @module-tag slow
// Budgets and the cap on calls in flight, enforced over several real worker processes on two accounts.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { verifyPromises } from '../support/promises.ts'
import { run } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'
import type { TestMill } from '../support/mill.ts'

/** Two workers on each of two accounts, until each has ended. */
function fourWorkers({ env }: TestMill, settings: Record<string, string> = {}) {
  return Promise.all(
    ['one', 'two', 'one', 'two'].map((account) =>
      run('work', ['--drain'], { ...env, MILL_ACCOUNT: account, ...settings }),
    ),
  )
}

const broken = async ({ db }: TestMill) => (await verifyPromises(db)).filter(({ ok }) => !ok)

test('four workers on two accounts never exceed the monthly budget of a list, over all of its runs', async () => {
  const { api, mill } = await openScene()
  const first = await mill.plan(queries(10))
  await mill.drain()
  await sql`update runs set kind = 'nightly' where id = ${first}`.execute(mill.db)
  const set = await run('budget', ['--list', 'test', '--credits', '25'], mill.env)
  expect(set).toMatchObject({ code: 0, stdout: expect.stringMatching(/list test .* 25 +10 +15/) })
  await mill.plan(queries(60), { maxAgeMs: 0 })
  const ended = await fourWorkers(mill)
  expect(api.charges()).toHaveLength(25)
  expect(await mill.states()).toEqual({ answered: 25, unaffordable: 45 })
  expect(new Set(ended.map(({ code }) => code))).toEqual(new Set([3]))
  expect(ended.map(({ stderr }) => stderr).join('')).toContain('npm run budget -- --list NAME')
  expect(await broken(mill)).toEqual([])
})

test('two workers never exceed the monthly budget, and pause until it ends', async () => {
  const { api, mill } = await openScene()
  await mill.plan(queries(60))
  const settings = { ...mill.env, MILL_MONTHLY_BUDGET: '12' }
  const ended = await Promise.all([1, 2].map(() => run('work', ['--drain'], settings)))
  expect(api.charges()).toHaveLength(12)
  expect(await mill.states()).toEqual({ answered: 12, open: 48 })
  expect(ended.map(({ code }) => code)).toEqual([3, 3])
  expect(ended[0]?.stderr).toContain(
    'the monthly budget is used up: 12 of 12 credits; raise MILL_MONTHLY_BUDGET',
  )
  const status = await run('status', [], settings)
  expect(status.stdout).toContain('the monthly budget is used up: 12 of 12 credits')
  expect(status.stdout).toContain('budgets exclude 48 queries')
  expect(await broken(mill)).toEqual([])
})

test('no more calls of an account are in flight than the cap allows, however many lanes its workers have', async () => {
  const { api, mill } = await openScene({ api: { delayMs: { least: 40, most: 80 } } })
  await mill.plan(queries(60))
  await fourWorkers(mill, { MILL_MAX_IN_FLIGHT: '3', MILL_CONCURRENCY: '20' })
  expect(api.charges()).toHaveLength(60)
  const { rows } = await sql<{ most: number }>`
    select max(beside)::integer as most
    from (
      select (
        select count(*)
        from calls other
        where other.account_id = c.account_id and other.sent_at <= c.sent_at and other.finished_at > c.sent_at
      ) as beside
      from calls c
    ) as moments`.execute(mill.db)
  expect(rows).toEqual([{ most: 3 }])
  expect(await broken(mill)).toEqual([])
})
