// @module-tag slow
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { patienceMs } from '../support/patience.ts'
import { verifyPromises } from '../support/promises.ts'
import { openDatabase, openPool } from '../../src/base/database/database.ts'
import { closeAndJudge } from '../../src/core/nights/after-runs.ts'
import { start } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'
import { openWire } from '../support/wire.ts'

test('a drain whose database becomes silent gives up with 5, and its answers are settled later without buying again', async () => {
  const { api, mill } = await openScene({ api: { delayMs: 300 } })
  const wire = await openWire(mill.databaseUrl)
  onTestFinished(wire.close)
  await mill.plan(queries(60))
  const settings = { ...mill.env, DATABASE_URL: wire.url, MILL_CONCURRENCY: '4' }
  const work = start('work', ['--drain', '--json'], settings)
  await expect.poll(() => api.charges().length).toBeGreaterThan(12)
  wire.hush()
  const { code, stderr } = await work.ended
  expect(code).toBe(5)
  expect(stderr).toContain('the database is not responding and is treated as unreachable')
  expect(readdirSync(join(mill.config.home, 'spool'))).toHaveLength(1)
  // Calls without a reply may have been reserved, and are released when their lease expires.
  expect(await mill.drain()).toMatchObject({ finish: 'completed' })
  expect(await mill.states()).toEqual({ answered: 60 })
  expect(api.charges()).toHaveLength(60)
  const checks = await verifyPromises(mill.db)
  expect(checks.filter(({ ok }) => !ok)).toEqual([])
})

test('a drain waits for the judgement of a large run, which may take longer than a database may be silent', async () => {
  const { mill } = await openScene()
  await mill.plan(queries(3))
  const said: string[] = []
  const summary = await mill.drain({
    report: (line) => said.push(line),
    afterRuns: async ({ db }, report) => {
      await closeAndJudge({ db, databaseUrl: mill.databaseUrl }, report)
      await sql`select pg_sleep(7)`.execute(db)
    },
  })
  expect(summary).toMatchObject({ finish: 'completed', answered: 3 })
  expect(said.join('\n')).not.toContain('not responding')
})

test('the figures of a large run may take longer than the ledger waits', async () => {
  const { mill } = await openScene()
  await mill.plan(queries(3))
  await mill.drain({ afterRuns: async () => undefined })
  const { databaseUrl } = mill
  const ledger = openPool(databaseUrl, { name: 'test', max: 1, ledger: true })
  const db = openDatabase(ledger, { byKey: true })
  onTestFinished(() => db.destroy())
  const analyst = openPool(databaseUrl, { name: 'test', max: 1 })
  onTestFinished(() => analyst.end())
  await analyst.query('begin')
  await analyst.query('lock table searches in access exclusive mode')
  const judging = closeAndJudge({ db, databaseUrl }, () => undefined)
  // The ledger's connections give up after two seconds.
  const waiting = sql`
    select from pg_locks where not granted and clock_timestamp() - waitstart > interval '3 seconds'`
  const waitsLong = async () => (await waiting.execute(mill.db)).rows.length === 1
  await Promise.race([judging, vi.waitUntil(waitsLong, { timeout: patienceMs })])
  await analyst.query('rollback')
  await judging
  const judged = await mill.db.selectFrom('night_health').select('answered').execute()
  expect(judged).toEqual([{ answered: 3 }])
})

test('a worker continues after a database that refused connections for a while, as during a restore', async () => {
  const { api, mill } = await openScene({ api: { delayMs: 100 } })
  const name = new URL(mill.databaseUrl).pathname.slice(1)
  const server = Object.assign(new URL(mill.databaseUrl), { pathname: '/postgres' }).href
  const admin = openPool(server, { name: 'test', max: 1 })
  onTestFinished(() => admin.end())
  // Connected before the worker buys, because on a busy machine all would be bought before the connection is
  // established.
  await admin.query('select')
  await mill.plan(queries(80))
  const work = start('work', ['--drain', '--json'], { ...mill.env, MILL_CONCURRENCY: '4' })
  await expect.poll(() => api.charges().length).toBeGreaterThan(12)
  await admin.query(`alter database ${name} allow_connections false`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
    name,
  ])
  await work.line('the database is unreachable')
  // Longer than the interval between its heartbeats and queue checks.
  await new Promise((resolve) => setTimeout(resolve, 4_000))
  await admin.query(`alter database ${name} allow_connections true`)
  const { code, stderr } = await work.ended
  expect(stderr).not.toContain('    at ')
  expect(code).toBe(0)
  expect(await mill.states()).toEqual({ answered: 80 })
  expect(api.charges()).toHaveLength(80)
})
