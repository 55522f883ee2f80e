// @module-tag slow
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase, stockedDatabase } from '../../support/database.ts'
import { run } from '../../support/run.ts'

let database: FreshDatabase
let home: string

beforeAll(async () => {
  database = await freshDatabase()
  home = mkdtempSync(join(tmpdir(), 'querymill-demo-'))
})

afterAll(async () => {
  await run('stack', ['stop'], { DATABASE_URL: database.url, MILL_HOME: home })
  await database.close()
  rmSync(home, { recursive: true, force: true })
})

test('a demo with a history has separate ledgers for its two keys, both without unexplained credits', async () => {
  const env = { DATABASE_URL: database.url, MILL_HOME: home }
  const ended = await run('demo', ['--nights', '2', '--json'], env)
  expect(ended).toMatchObject({ code: 0 })
  const { rows } = await database.pool.query(`
    select account, sum(credits_used) as used, sum(credits_unexplained) as unexplained
    from analysis.account_days
    group by account
    order by account`)
  expect(rows).toEqual([
    { account: 'bundled', used: 60, unexplained: 0 },
    { account: 'demo', used: 120, unexplained: 0 },
  ])
})

test('a month with faults gives each faulty night and nothing else, and a statement that adds up', async () => {
  const month = await stockedDatabase()
  const own = mkdtempSync(join(tmpdir(), 'querymill-month-'))
  const env = { DATABASE_URL: month.url, MILL_HOME: own }
  const ended = await run('demo', ['--nights', '12', '--faults'], env)
  const told = async (command: string, ...args: readonly string[]) =>
    JSON.parse((await run(command, [...args, '--json'], env)).stdout)
  const { alerts } = await told('alerts')
  const { sums } = await told('statement', '--account', 'demo-month', '--by', 'day')
  const { rows: nights } = await month.pool.query<{ suspect: boolean; day: string; why: string }>(`
    select suspect, run_date as day, array_to_string(reasons || remarks, '; ') as why
    from night_health
    join runs on runs.id = run_id
    join lists on lists.id = list_id
    where name = 'demo-month' and cardinality(reasons || remarks) > 0
    order by run_date`)
  await run('stack', ['stop'], env)
  await month.close()
  rmSync(own, { recursive: true, force: true })
  expect(ended).toMatchObject({ code: 0 })
  expect(ended.stdout).toContain('npm run statement -- --account demo-month')
  const suspects = nights.filter(({ suspect }) => suspect)
  expect(suspects.map(({ why }) => why)).toEqual([
    expect.stringContaining('100 % of the answers have no results'),
    expect.stringMatching(/answers are 1\.\d results deep/),
    expect.stringContaining('of the queries were answered, usually 100 %'),
    expect.stringContaining('100 % of the answers cannot be read'),
  ])
  expect(nights.filter(({ suspect }) => !suspect).map(({ why }) => why)).toEqual([
    'an answer cost 3.0 credits, usually 1.0',
  ])
  const [sum] = sums
  const { opening, ours, perhaps_ours: perhaps, others, top_up: added, closing } = sum
  expect(opening + ours + perhaps + others + added).toBe(closing)
  expect({ ours, perhaps, others, added }).toEqual({
    ours: -697,
    perhaps: -60,
    others: -25,
    added: 523,
  })
  const days = new Set(suspects.map(({ day }) => day))
  expect(alerts.length).toBeGreaterThan(0)
  for (const alert of alerts) {
    expect(alert).toMatchObject({
      domain: 'caniuse.com',
      question: expect.stringMatching(/^npm run sql/),
    })
    expect([days.has(alert.run_date), days.has(alert.base_run_date)]).toEqual([false, false])
  }
})

test('a month with fewer nights than faults is refused', async () => {
  const env = { DATABASE_URL: database.url, MILL_HOME: home }
  const ended = await run('demo', ['--nights', '8', '--faults'], env)
  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected --nights from 12 to 400 with --faults, got 8'),
  })
})

test('a demo with a cadence buys every query in its first half, fewer in its second, and shows the savings', async () => {
  const less = await stockedDatabase()
  const own = mkdtempSync(join(tmpdir(), 'querymill-less-'))
  const env = { DATABASE_URL: less.url, MILL_HOME: own }
  const ended = await run('demo', ['--nights', '12', '--cadence'], env)
  const { rows } = await less.pool.query(`
    select bought, not_asked, queries, bought + not_asked as held
    from analysis.cadence_nights
    where list = 'demo-cadence'`)
  await run('stack', ['stop'], env)
  await less.close()
  rmSync(own, { recursive: true, force: true })
  expect(ended).toMatchObject({ code: 0 })
  expect(ended.stdout).toContain('demo-cadence, as decided for')
  expect(rows).toHaveLength(6)
  expect(rows.every(({ held }) => held === 60)).toBe(true)
  expect(rows.reduce((sum, { not_asked: rested }) => sum + rested, 0)).toBeGreaterThan(6 * 20)
})

test('a demo does not accept cadence and faults at once, and says so', async () => {
  const { code, stderr } = await run('demo', ['--faults', '--cadence'])
  expect(code).toBe(2)
  expect(stderr).toContain('expected --faults or --cadence, got both')
})
