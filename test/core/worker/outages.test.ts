import { existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { openDatabase, openPool } from '../../../src/base/database/database.ts'
import { ensurePostgres, stopPostgres } from '../../../src/base/embedded/postgres.ts'
import { migrateAll } from '../../../src/core/mill.ts'
import { Outages } from '../../../src/core/worker/outages.ts'
import { verifyPromises } from '../../support/promises.ts'
import type { TestMill } from '../../support/mill.ts'
import { backends } from '../../support/redis.ts'
import { run, start } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

describe('the outages recorded by a worker', () => {
  test('last from the first sign until the dependency answers', () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const outages = new Outages()
    outages.mark('the queue', true)
    vi.advanceTimersByTime(1_000)
    outages.mark('the queue', true)
    expect(outages.longerThan(1_000)).toBe('the queue')
    expect(outages.longerThan(1_001)).toBeNull()
    expect(outages.list()).toEqual(['the queue is unreachable'])
    outages.mark('the queue', false)
    expect([outages.longerThan(0), outages.list()]).toEqual([null, []])
  })

  test('of the database are reported once at the beginning and once at the end', () => {
    const outages = new Outages()
    const said: string[] = []
    for (const away of [false, true, true, false, false]) {
      outages.markDatabase(away, (line) => said.push(line))
    }
    expect(said).toEqual([
      'the database is unreachable; no calls start until it is available again',
      'the database is available again',
    ])
  })

  test('stop the worker only if nothing can be written or received', () => {
    const outages = new Outages()
    outages.mark('the API', true)
    outages.mark('the queue', true)
    expect(outages.mute).toBe(false)
    outages.mark('the database', true)
    expect(outages.mute).toBe(true)
  })
})

/** A separate server that the test can stop and start. */
async function openServer() {
  const home = mkdtempSync(join(tmpdir(), 'querymill-outage-'))
  onTestFinished(async () => {
    await stopPostgres(home)
  })
  const { url } = await ensurePostgres(home)
  const pool = openPool(url, { name: 'outage', max: 8 })
  await migrateAll(pool, url)
  const db = openDatabase(pool)
  const close = async () => {
    await ensurePostgres(home)
    await pool.end()
  }
  return { home, database: { url, pool, db, close: () => Promise.resolve() }, close }
}

async function until(look: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await look())) await new Promise((resolve) => setTimeout(resolve, 20))
}

async function broken(mill: TestMill): Promise<string[]> {
  const checks = await verifyPromises(mill.db)
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

test(
  'while the database is unreachable no call begins, and paid answers are settled afterwards',
  { tags: ['slow'] },
  async () => {
    const server = await openServer()
    const { api, mill } = await openScene({ database: server.database, api: { delayMs: 300 } })
    onTestFinished(server.close)
    await mill.plan(queries(80))
    const work = mill.drain({ lanes: 4 })
    await until(() => api.charges().length >= 12)
    await stopPostgres(server.home)
    await until(() => api.charges().every(({ ended_at }) => ended_at !== null))
    const paid = api.charges().length
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(api.charges()).toHaveLength(paid)
    await ensurePostgres(server.home)
    expect(await work).toMatchObject({ finish: 'completed' })
    expect(await mill.states()).toEqual({ answered: 80 })
    expect(api.charges()).toHaveLength(80)
    expect(await broken(mill)).toEqual([])
  },
)

test(
  'a shutdown while the database is unreachable keeps paid answers in a file, and the next start settles them',
  { tags: ['slow'] },
  async () => {
    const server = await openServer()
    const { api, mill } = await openScene({ database: server.database, api: { delayMs: 5_000 } })
    onTestFinished(server.close)
    await mill.plan(queries(4))
    // A separate process: its open resources end with it, as outside of tests.
    const work = start('work', ['--json'], mill.env)
    await until(() => api.charges().length >= 1)
    await stopPostgres(server.home)
    work.kill('SIGTERM')
    const left = await work.ended
    expect(JSON.parse(left.stdout)).toMatchObject({ finish: 'interrupted' })
    const folder = join(mill.config.home, 'spool')
    expect(readdirSync(folder)).toHaveLength(1)
    await ensurePostgres(server.home)
    api.set({ delayMs: 0 })
    const bought = api.charges().length
    expect((await mill.drain()).finish).toBe('completed')
    expect(readdirSync(folder)).toHaveLength(0)
    expect(await mill.states()).toEqual({ answered: 4 })
    expect(api.charges()).toHaveLength(4)
    expect(bought).toBeGreaterThanOrEqual(1)
    expect(await broken(mill)).toEqual([])
  },
)

test(
  'a drain whose API is unreachable gives up with 5 and leaves every task unchanged',
  { tags: ['slow'] },
  async () => {
    const { api, mill } = await openScene()
    await mill.plan(queries(3))
    await api.close()
    const result = await start('work', ['--drain', '--json'], mill.env).ended
    expect(result.code).toBe(5)
    expect(JSON.parse(result.stdout)).toMatchObject({ finish: 'unreachable', calls: 0 })
    expect(await mill.states()).toEqual({ open: 3 })
    const { rows } =
      await sql`select max(attempts) as most, max(ambiguous) as unread from tasks`.execute(mill.db)
    expect(rows).toEqual([{ most: 0, unread: 0 }])
  },
)

test.each(backends)(
  'a worker killed during a run on $name loses nothing, stores nothing twice and leaves at most one unread call per lane',
  { tags: ['slow'] },
  async (backend) => {
    const { api, mill } = await openScene({
      backend,
      api: { delayMs: { least: 50, most: 300 } },
      settings: { MILL_LEASE_MS: '4000', MILL_TIMEOUT_MS: '2000', MILL_CONCURRENCY: '6' },
    })
    await mill.plan(queries(70))
    const first = start('work', [], mill.env)
    await until(() => api.charges().length >= 20)
    first.kill('SIGKILL')
    await first.ended
    const second = await run('work', ['--drain', '--json'], mill.env)
    expect(second.code).toBe(0)
    expect(JSON.parse(second.stdout)).toMatchObject({ finish: 'completed' })
    expect(await mill.states()).toEqual({ answered: 70 })
    const { rows } = await sql<{ answers: number; unread: number }>`
      select
        (select count(*) from searches) as answers,
        (select count(*) from calls where outcome = 'unknown') as unread`.execute(mill.db)
    expect(rows[0]?.answers).toBe(70)
    expect(rows[0]?.unread).toBeLessThanOrEqual(6)
    expect(api.charges().length).toBeLessThanOrEqual(70 + (rows[0]?.unread ?? 0))
    expect(await broken(mill)).toEqual([])
  },
)

test(
  'a worker asked to end finishes its calls, exits with 0 and leaves no call in flight',
  { tags: ['slow'] },
  async () => {
    const { api, mill } = await openScene({ api: { delayMs: 400 } })
    await mill.plan(queries(60))
    const worker = start('work', ['--json'], mill.env)
    await until(() => api.charges().length >= 10)
    worker.kill('SIGTERM')
    const result = await worker.ended
    expect(result.code).toBe(0)
    const summary: unknown = JSON.parse(result.stdout)
    expect(summary).toMatchObject({ finish: 'interrupted', unknown: 0 })
    const charged = api.charges().length
    expect(await mill.states()).toEqual({ answered: charged, open: 60 - charged })
    const { rows } = await sql`
    select count(*) as n from calls where outcome is null or outcome = 'unknown'`.execute(mill.db)
    expect(rows).toEqual([{ n: 0 }])
    expect((await mill.drain()).finish).toBe('completed')
    expect(api.charges()).toHaveLength(60)
  },
)

test('a second signal ends a worker at once', { tags: ['slow'] }, async () => {
  const { api, mill } = await openScene({ api: { delayMs: 20_000 } })
  await mill.plan(queries(5))
  const worker = start('work', [], mill.env)
  await until(() => api.charges().length >= 1)
  worker.kill('SIGINT')
  await worker.line('waiting for')
  worker.kill('SIGINT')
  expect((await worker.ended).code).toBe(130)
})

test(
  'a queue that lost everything is rebuilt from the tables, with one job for each open slice',
  { tags: ['slow'] },
  async () => {
    const { api, mill } = await openScene()
    await mill.plan(queries(60))
    await sql`delete from bullmq.job`.execute(mill.db)
    const first = await run('rebuild', ['--json'], mill.env)
    expect(JSON.parse(first.stdout)).toEqual({ jobs: 3 })
    await run('rebuild', [], mill.env)
    expect(await (await mill.queue()).count()).toEqual({ jobs: 3, paused: false })
    expect((await mill.drain()).finish).toBe('completed')
    expect(api.charges()).toHaveLength(60)
  },
)

test('a worker recreates jobs that the queue lost, without a command', async () => {
  const { api, mill } = await openScene()
  await mill.plan(queries(30))
  await sql`delete from bullmq.job`.execute(mill.db)
  expect((await mill.drain()).finish).toBe('completed')
  expect(api.charges()).toHaveLength(30)
})

test('an unreachable database is reported in one line with exit code 5', async () => {
  const env = { DATABASE_URL: 'postgres://nobody:x@127.0.0.1:1/none', MILL_HOME: '/nonexistent' }
  const { code, stdout, stderr } = await start('work', ['--drain'], env).ended
  expect(code).toBe(5)
  expect(stdout).toBe('')
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toContain('expected a PostgreSQL server')
  expect(existsSync('/nonexistent')).toBe(false)
})
