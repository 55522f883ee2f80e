// @module-tag slow
// Finished days are added up by the command if no scheduler does it.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { type Result, run } from '../../support/run.ts'
import { Story } from '../analysis/story.ts'

let database: FreshDatabase
const home = mkdtempSync(join(tmpdir(), 'querymill-test-'))
const days = ['2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04']
beforeEach(async () => {
  database = await freshDatabase()
  const story = new Story(database.pool)
  for (const day of days) await story.night(day, { shoes: ['a.com/', 'b.com/'] })
  await database.pool.query("update runs set state = 'done'")
})
afterEach(() => database.close())

const rebuild = (...args: readonly string[]): Promise<Result> =>
  run('rebuild', args, { DATABASE_URL: database.url, MILL_HOME: home })

async function keptDays(): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ day: string }>(
    'select run_date::text as day from finished_days where made_at is not null order by 1',
  )
  return rows.map(({ day }) => day)
}

describe('npm run rebuild -- --days', () => {
  test('adds up every finished day, reports its progress, and finds nothing to do the second time', async () => {
    const first = await rebuild('--days', '--json')
    expect(first.code).toBe(0)
    expect(JSON.parse(first.stdout)).toEqual({ days: 4, open: 0, begun: 0, waiting: 0 })
    expect(first.stderr).toContain(
      '2026-01-01: sums stored, 3 days to go\n2026-01-02: sums stored, 2 days to go',
    )
    expect(await keptDays()).toEqual(days)
    const second = await rebuild('--days', '--json')
    expect(JSON.parse(second.stdout)).toEqual({ days: 0, open: 0, begun: 0, waiting: 0 })
    expect(second.code).toBe(0)
  })

  test('starts with the day that --since names, and leaves earlier ones to the next command', async () => {
    expect((await rebuild('--days', '--since', '2026-01-03')).code).toBe(0)
    expect(await keptDays()).toEqual(days.slice(2))
    expect((await rebuild('--days')).stderr).toContain('sums of 2 days stored')
    expect(await keptDays()).toEqual(days)
  })

  test('skips days with an open run or in progress elsewhere, and says so', async () => {
    await database.pool.query("update runs set state = 'open' where run_date = '2026-01-03'")
    await database.pool.query(
      "insert into finished_days (run_date, basis) values ('2026-01-02', analysis.basis())",
    )
    const { code, stderr, stdout } = await rebuild('--days', '--json')
    expect(JSON.parse(stdout)).toEqual({ days: 1, open: 0, begun: 1, waiting: 2 })
    expect(stderr).toContain('1 day in progress in another process')
    expect(stderr).toContain(
      '2 days left out because a run on the same or an earlier day is still open',
    )
    expect(code).toBe(0)
    expect(await keptDays()).toEqual(['2026-01-01'])
  })

  test('takes a day over from a dead process, and leaves a large day more time', async () => {
    await database.pool.query(
      "update runs set rows = 60000 + duplicates + rejected, accepted = 60000 where run_date = '2026-01-02'",
    )
    await database.pool.query(
      `insert into finished_days (run_date, basis, begun_at)
      select day::date, analysis.basis(), now() - interval '16 minutes'
      from unnest(array['2026-01-01', '2026-01-02']) as day`,
    )
    const { stdout } = await rebuild('--days', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ days: 3, begun: 1 })
    expect(await keptDays()).toEqual(days.filter((day) => day !== '2026-01-02'))
  })

  test('waits for a transaction that writes for more than a second, and then stores the day', async () => {
    const writer = await database.pool.connect()
    await writer.query('begin')
    await writer.query("update lists set source = 'other.csv'")
    const ended = rebuild('--days')
    // It has started the first day, given it up, and started it again.
    await expect
      .poll(async () => {
        const { rows } = await database.pool.query('select from finished_days where id > 1')
        return rows.length
      })
      .toBe(1)
    expect(await keptDays()).toEqual([])
    await writer.query('commit')
    writer.release()
    expect((await ended).code).toBe(0)
    expect(await keptDays()).toEqual(days)
  })

  test('beside another one adds up each day once', async () => {
    const both = await Promise.all([rebuild('--days', '--json'), rebuild('--days', '--json')])
    const kept = both.map(({ stdout }) => (JSON.parse(stdout) as { days: number }).days)
    expect(kept.reduce((sum, one) => sum + one, 0)).toBe(4)
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    expect(await keptDays()).toEqual(days)
  })

  test('refuses an invalid day, and --since for the queue', async () => {
    const wrong = await rebuild('--days', '--since', '2026-02-30')
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      'error: expected --since to be a date like 2026-10-03, got 2026-02-30\n',
    ])
    const alone = await rebuild('--since', '2026-01-01')
    expect(alone.code).toBe(2)
    expect(alone.stderr).toContain('expected --days with --since')
  })
})
