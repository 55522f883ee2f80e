// @module-tag slow
// The output of `npm run work -- --drain` while it runs, and at its end.
import { sql } from 'kysely'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Reporter } from '../../../src/core/worker/progress.ts'
import { run, start } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('a drain', () => {
  test('reports its progress every ten seconds', async () => {
    const { mill } = await openScene({ api: { credits: 125, delayMs: 500 } })
    await mill.plan(queries(60))
    const { code, stderr } = await run('work', ['--drain', '--concurrency', '1'], mill.env)
    const [, done, left] =
      /^(\d+) done, (\d+) left · [\d.]+\/s · \d+ s to go(?: · 1 in flight)? · \d+ credits left$/m.exec(
        stderr,
      ) ?? []
    expect(Number(done) + Number(left), stderr).toBe(60)
    expect(code).toBe(3)
  })

  test('ends with failures by code, and latencies', async () => {
    const { mill, api } = await openScene({ api: { delayMs: 100, cost: 2 } })
    await mill.plan(queries(5))
    const first = await run('work', ['--drain', '--json'], mill.env)
    expect(JSON.parse(first.stdout)).toMatchObject({ credits_used: 10, failures: {} })
    const refused = { kind: 'status', status: 400, code: 'INVALID_QUERY' } as const
    api.set({ cost: 3, faults: ['query 1 ', 'query 2 '].map((match) => ({ ...refused, match })) })
    await mill.plan(queries(8).map((q) => `${q} again`))
    const second = await run('work', ['--drain', '--json'], mill.env)
    expect(second.stderr).toContain('failures in these runs: 2 INVALID_QUERY')
    expect(second.stderr).toMatch(/answers took [\d.]+ s \(median\), [\d.]+ s \(95th percentile\)/)
    const sums = JSON.parse(second.stdout)
    expect(sums).toMatchObject({ credits_used: 18, failures: { INVALID_QUERY: 2 } })
    expect(sums.latency_ms.median).toBeGreaterThanOrEqual(100)
    expect(sums.latency_ms.p95).toBeGreaterThanOrEqual(sums.latency_ms.median)
  })

  test('after a crash reports once whose lease it waits for, and until when', async () => {
    const { mill, api } = await openScene({ api: { delayMs: 60_000 } })
    await mill.plan(queries(3))
    const times = { MILL_LEASE_MS: '15000', MILL_TIMEOUT_MS: '9000' }
    const dead = start('work', ['--drain', '--concurrency', '1'], { ...mill.env, ...times })
    await expect.poll(() => api.charges().length).toBe(1)
    dead.kill('SIGKILL')
    await dead.ended
    api.set({ delayMs: 0 })
    const { rows } = await sql<{ until: string }>`
      select to_char(lease_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until
      from workers`.execute(mill.db)
    const { stderr, code } = await run('work', ['--drain'], { ...mill.env, ...times })
    const said = stderr.split('\n').filter((line) => line.startsWith('waiting for'))
    expect(said).toEqual([
      expect.stringMatching(
        new RegExp(
          `^waiting for 1 call by worker \\d+ \\(.*, process ${dead.pid}\\); .*its lease ends at ${rows[0]?.until}, `,
        ),
      ),
    ])
    expect(code).toBe(0)
    expect(await mill.states()).toEqual({ answered: 3 })
  })

  test('reports until when it waits for a delayed task', async () => {
    const { mill } = await openScene()
    await mill.plan(queries(2))
    const { rows } = await sql<{ until: string }>`
      update tasks
      set not_before = now() + interval '20 seconds', error_code = 'TIMEOUT'
      where id = (select min(id) from tasks)
      returning to_char(not_before at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until`.execute(
      mill.db,
    )
    const { stderr } = await run('work', ['--drain'], mill.env)
    const said = stderr.split('\n').filter((line) => line.startsWith('waiting'))
    expect(said).toEqual([`waiting until ${rows[0]?.until} to retry "query 1" (TIMEOUT)`])
    expect(await mill.states()).toEqual({ answered: 2 })
  })
})

const wipe = '\r\u001b[2K'

test('on a terminal, progress is one redrawn line, and another line replaces it', async () => {
  const { mill } = await openScene({ api: { delayMs: 300 } })
  await mill.plan(queries(8))
  const written: string[] = []
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written.push(String(text))
    return true
  })
  const told: string[] = []
  const reporter = new Reporter(mill, { terminal: true, report: (line) => told.push(line) })
  await mill.drain({ lanes: 1, onTick: (worker) => reporter.tick(worker) })
  reporter.report('the end')
  expect(told).toEqual(['the end'])
  expect(written.length).toBeGreaterThan(3)
  for (const text of written.slice(0, -1)) {
    expect(text.startsWith(wipe)).toBe(true)
    expect(text.slice(wipe.length)).toMatch(/^\d+ done/)
  }
  expect(written.at(-1)).toBe(wipe)
})
