import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'
import { run } from '../support/run.ts'

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

test('a demo with a history keeps the books of its two keys apart, each without a credit unexplained', async () => {
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
}, 90_000)
