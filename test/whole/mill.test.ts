import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startService } from '../../src/service/start.ts'
import { freshDatabase } from '../support/database.ts'
import { backends, type TestBackend } from '../support/redis.ts'
import { run } from '../support/run.ts'

/** The bundled service with generated pages, a live key, and settings for commands that buy from it. */
async function openWorld(backend: TestBackend, credits = 10_000) {
  const database = await freshDatabase()
  const service = await startService({ databaseUrl: database.url, upstream: 'mock' })
  const { key } = await service.keys.create({ kind: 'live', credits })
  const home = mkdtempSync(join(tmpdir(), 'querymill-mill-'))
  const redisUrl = backend.redisUrl()
  onTestFinished(async () => {
    await service.close()
    await database.close()
    rmSync(home, { recursive: true, force: true })
  })
  const env = {
    DATABASE_URL: database.url,
    MILL_HOME: home,
    SEARCH_API_URL: service.url,
    SEARCH_API_KEY: key,
    ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
  }
  return { database, service, env }
}

const list = 'inputs/keywords.csv'

describe.each(backends)('the whole program with its queue on $name', (backend) => {
  test('buys every query of a list once, and all checks pass', async () => {
    const { database, service, env } = await openWorld(backend)
    const enqueued = await run('enqueue', [list, '--json'], env)
    expect(enqueued.code, enqueued.stderr).toBe(0)
    const plan = JSON.parse(enqueued.stdout) as Record<string, number>
    expect(plan['rows']).toBe(
      (plan['accepted'] ?? 0) + (plan['duplicates'] ?? 0) + (plan['rejected'] ?? 0),
    )
    expect(plan['tasks']).toBe(plan['queued'])
    const worked = await run('work', ['--drain', '--json'], env)
    expect(worked.code, worked.stderr).toBe(0)
    expect(JSON.parse(worked.stdout)).toMatchObject({
      finish: 'completed',
      answered: plan['tasks'],
      calls: plan['tasks'],
    })
    const days = await service.keys.usage()
    expect(days.reduce((sum, day) => sum + day.requests, 0)).toBe(plan['tasks'])
    const verified = await run('verify', ['--json'], env)
    expect(verified.code, verified.stdout).toBe(0)
    const status = await run('status', ['--json'], env)
    expect(JSON.parse(status.stdout)).toMatchObject({
      runs: [{ state: 'done', tasks: { open: 0, answered: plan['tasks'] } }],
      queue: { backend: backend.name, jobs: 0 },
    })
    const { rows } = await sql<{ results: number; pages: number }>`
      select (select count(*) from organic_results) as results, (select count(*) from pages) as pages`.execute(
      database.db,
    )
    expect(rows[0]?.results).toBeGreaterThan(plan['tasks'] ?? 0)
    expect(rows[0]?.pages).toBeGreaterThan(0)
  })

  test('reuses recent answers for the same list, and buys again on request', async () => {
    const { service, env } = await openWorld(backend)
    await run('enqueue', [list], env)
    await run('work', ['--drain'], env)
    const again = JSON.parse((await run('enqueue', [list, '--json'], env)).stdout) as Record<
      string,
      number
    >
    expect(again['reused']).toBe(again['tasks'])
    expect(again['queued']).toBe(0)
    const all = ['--max-age', '0', '--yes', '--json']
    const anew = JSON.parse((await run('enqueue', [list, ...all], env)).stdout) as Record<
      string,
      number
    >
    expect(anew['queued']).toBe(again['tasks'])
    await run('work', ['--drain'], env)
    const days = await service.keys.usage()
    expect(days.reduce((sum, day) => sum + day.requests, 0)).toBe(2 * (again['tasks'] ?? 0))
  })

  test('creates each task once for two concurrent enqueues of one file', async () => {
    const { database, env } = await openWorld(backend)
    const both = await Promise.all([
      run('enqueue', [list, '--json'], env),
      run('enqueue', [list, '--json'], env),
    ])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    const { rows } = await sql<{ runs: number; tasks: number; queries: number }>`
      select
        (select count(*) from runs) as runs,
        (select count(*) from tasks) as tasks,
        (select count(distinct query_id) from tasks) as queries`.execute(database.db)
    expect(rows[0]?.runs).toBe(1)
    expect(rows[0]?.tasks).toBe(rows[0]?.queries)
    const plans = both.map(({ stdout }) => JSON.parse(stdout) as Record<string, number>)
    expect(plans.map((plan) => plan['queued'] ?? 0).reduce((a, b) => a + b)).toBe(rows[0]?.tasks)
  })

  test('exits with 3 at the floor, says why, and status names the next command', async () => {
    const { env } = await openWorld(backend, 110)
    await run('enqueue', [list, '--yes'], env)
    const { code, stdout } = await run('work', ['--drain', '--json'], env)
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({ finish: 'credit_floor' })
    const remaining = (JSON.parse(stdout) as { credits_remaining: number }).credits_remaining
    expect(remaining).toBeGreaterThanOrEqual(100)
    const status = await run('status', [], env)
    expect(status.stdout).toContain('stopped (credit_floor)')
    expect(status.stdout).toContain('npm run resume')
    expect((await run('resume', [], env)).code).toBe(0)
  })
})
