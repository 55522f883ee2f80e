// @module-tag slow
// The commands of docs/operations.md as written. They need a pg_dump that is not older than the server.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { openPool } from '../../src/base/database/database.ts'
import { processEnvironment } from '../../src/base/config.ts'
import { root } from '../../src/base/root.ts'
import { emptyUrl } from '../support/database.ts'
import { run } from '../support/run.ts'
import { openScene, queries } from '../support/scene.ts'
import { temporaryFolder } from '../support/place.ts'
import { clusters, has } from '../support/parts.ts'

const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8')
const line = (pattern: RegExp): string => pattern.exec(page)?.[0] ?? ''

/**
 * The programs of the newest PostgreSQL that Debian installed; null if there are none, or none as new as the server.
 */
async function findTools(): Promise<string | null> {
  const pool = openPool(inject('adminUrl'), { name: 'tests', max: 1 })
  const { rows } = await pool.query<{ version: number }>(
    "select current_setting('server_version_num')::integer / 10000 as version",
  )
  await pool.end()
  const versions = has('postgresql') ? readdirSync(clusters) : []
  const newest = Math.max(0, ...versions.map(Number))
  return newest >= (rows[0]?.version ?? Infinity) ? join(clusters, String(newest), 'bin') : null
}

const tools = await findTools()

/** A command of the page, run by a shell. */
function type(words: string, databaseUrl: string): void {
  const { PATH } = processEnvironment()
  const { status, stderr } = spawnSync('sh', ['-ec', words], {
    cwd: folder,
    env: { PATH: `${tools ?? ''}:${PATH ?? ''}`, DATABASE_URL: databaseUrl },
    encoding: 'utf8',
  })
  expect([words, status, stderr]).toEqual([words, 0, ''])
}

const folder = temporaryFolder('backup')

test.skipIf(tools === null)(
  'a backup restored elsewhere passes every check, has its answers, and buys only what was open',
  async () => {
    const { api, mill } = await openScene()
    await mill.plan(queries(40), { budget: 25 })
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: 25 })
    await run('retry', ['--state', 'unaffordable', '--budget', '100', '--yes'], mill.env)
    type(line(/^pg_dump .*$/m), mill.databaseUrl)
    const elsewhere = await emptyUrl()
    type(line(/pg_restore .*$/m), elsewhere)
    const env = { ...mill.env, DATABASE_URL: elsewhere }
    for (const name of ['migrate', 'rebuild', 'verify']) {
      expect(page).toMatch(new RegExp(`^npm run ${name}\\b`, 'm'))
      expect(await run(name, [], env)).toMatchObject({ code: 0 })
    }
    expect(await run('sql', ['select 1 as one'], env)).toMatchObject({ code: 0 })
    const { code, stdout } = await run('work', ['--drain', '--json'], env)
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ finish: 'completed', answered: 15, calls: 15, credits_used: 15 }),
    ])
    expect(api.charges()).toHaveLength(40)
    expect(new Set(api.charges().map(({ q }) => q)).size).toBe(40)
    expect((await run('verify', ['--deep'], env)).code).toBe(0)
  },
)

test.skipIf(tools === null)(
  'a backup older than the ledger reserves what it cannot know: the next balance is used, and the floor holds',
  async () => {
    const { api, mill } = await openScene({
      api: { credits: 160 },
      settings: { MILL_CREDIT_FLOOR: '100' },
    })
    await mill.plan(queries(80))
    type(line(/^pg_dump .*$/m), mill.databaseUrl)
    expect(await mill.drain()).toMatchObject({ finish: 'credit_floor' })
    const spent = api.charges().length
    const elsewhere = await emptyUrl()
    type(line(/pg_restore .*$/m), elsewhere)
    const env = { ...mill.env, DATABASE_URL: elsewhere }
    for (const name of ['migrate', 'rebuild']) expect((await run(name, [], env)).code).toBe(0)
    // It has no record of these calls, and makes one call to learn the balance.
    const { code } = await run('work', ['--drain'], env)
    expect(code).toBe(3)
    expect(api.charges().length - spent).toBeLessThanOrEqual(1)
    expect(api.balance()).toBeGreaterThanOrEqual(99)
    expect((await run('verify', [], env)).code).toBe(0)
    const { rows } = await sql<{ n: number }>`select count(*) as n from searches`.execute(mill.db)
    expect(rows[0]?.n).toBe(spent)
  },
)
