// @module-tag slow
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { liftStops } from '../../src/core/ledger/change-tasks.ts'
import { openScene, queries } from '../support/scene.ts'
import { start } from '../support/run.ts'

// A stopped process (Ctrl-Z, a paused container or machine) freezes at any instant, with everything that it holds.

const freezes = 16

test('a worker that freezes at any moment delays neither the others nor a user', async () => {
  const { api, mill } = await openScene({
    api: { credits: 1_000_000 },
    settings: { MILL_CONCURRENCY: '32', MILL_LEASE_MS: '60000' },
  })
  await mill.plan(queries(60))
  await mill.drain()
  await mill.plan(queries(40_000).slice(60))
  const [steady, shaky] = [start('work', ['--json'], mill.env), start('work', ['--json'], mill.env)]
  onTestFinished(() => steady.kill('SIGKILL'))
  onTestFinished(() => shaky.kill('SIGKILL'))
  const count = async (text: ReturnType<typeof sql<{ count: number }>>) =>
    (await text.execute(mill.db)).rows[0]?.count ?? 0
  const answered = () =>
    count(sql`select count(*)::integer as count from tasks where state = 'answered'`)
  const buying = () =>
    count(sql`select count(distinct worker)::integer as count from calls where outcome is null`)
  const { rows: accounts } = await sql<{ id: number }>`select id from accounts`.execute(mill.db)
  for (let turn = 0; turn < freezes; turn += 1) {
    await expect.poll(buying, { interval: 5 }).toBe(2)
    shaky.kill('SIGSTOP')
    // While it is frozen, for as long as possible: its lease lasts longer than this test.
    const before = await answered()
    await expect.poll(answered, { interval: 50 }).toBeGreaterThan(before + 200)
    await liftStops(mill.db, accounts[0]?.id ?? 0)
    shaky.kill('SIGCONT')
  }
  for (const worker of [steady, shaky]) worker.kill('SIGTERM')
  expect((await steady.ended).code).toBe(0)
  expect((await shaky.ended).code).toBe(0)
  // Only queries with an unreadable call were bought twice.
  const asked = api.charges().map(({ q }) => q)
  const unread = await count(sql`select coalesce(sum(ambiguous), 0)::integer as count from tasks`)
  expect(asked.length - new Set(asked).size).toBeLessThanOrEqual(unread)
})
