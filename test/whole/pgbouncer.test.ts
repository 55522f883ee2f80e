// @module-tag slow
// Debian's PgBouncer in front of the tests' server, with its default configuration: no startup parameter is ignored.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migrateAll } from '../../src/core/mill.ts'
import { openTables } from '../../src/service/database.ts'
import { startFaulty } from '../faults/api/standin.ts'
import {
  openDatabase,
  openPool,
  type PoolOptions,
  probeDatabase,
} from '../../src/base/database/database.ts'
import { emptyUrl, freshUrl } from '../support/database.ts'
import { openPooler } from '../support/pooler.ts'
import { run } from '../support/run.ts'
import { queries } from '../support/scene.ts'
import { has } from '../support/parts.ts'
import { temporaryFolder } from '../support/place.ts'

type Mode = Parameters<typeof openPooler>[1]

async function before(server: string, mode: Mode): Promise<string> {
  const pooler = await openPooler(server, mode)
  onTestFinished(pooler.close)
  return pooler.url
}

function openPoolBy(url: string, options: Partial<PoolOptions> = {}) {
  const pool = openPool(url, { name: 'test', ...options })
  onTestFinished(() => pool.end())
  return pool
}

const setting = async (url: string, name: string, options: Partial<PoolOptions>) => {
  const { rows } = await openPoolBy(url, options).query<{ value: string }>(
    'select current_setting($1) as value',
    [name],
  )
  return rows[0]?.value
}

const sentence =
  /expected a dedicated session .* pool_mode = session .* or set DATABASE_URL .*to PostgreSQL itself/

describe.skipIf(!has('pgbouncer'))('behind a pooler', () => {
  test('in session mode, a list is enqueued, bought and verified, with its queue on PostgreSQL too', async () => {
    const DATABASE_URL = await before(await emptyUrl(), 'session')
    await migrateAll(openPoolBy(DATABASE_URL), DATABASE_URL)
    const api = await startFaulty({ seed: 'pooler', credits: 500, kind: 'live', cost: 1 })
    onTestFinished(() => api.close())
    const home = temporaryFolder('pooled')
    const env = {
      DATABASE_URL,
      MILL_HOME: home,
      SEARCH_API_URL: api.url,
      SEARCH_API_KEY: api.key,
    }
    const list = join(home, 'list.csv')
    writeFileSync(list, ['query', ...queries(60)].join('\n'))
    expect(await run('enqueue', [list, '--yes'], env)).toMatchObject({ code: 0 })
    const { code, stdout } = await run('work', ['--drain', '--json'], env)
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { finish: 'completed', answered: 60 }])
    expect(api.charges()).toHaveLength(60)
    expect(await run('verify', ['--deep'], env)).toMatchObject({ code: 0 })
  })

  test('in session mode, the limits of the ledger and of readers are in force', async () => {
    const url = await before(await freshUrl(), 'session')
    expect(await setting(url, 'lock_timeout', { ledger: true })).toBe('2s')
    expect(await setting(url, 'idle_in_transaction_session_timeout', { ledger: true })).toBe('1s')
    expect(await setting(url, 'search_path', { schema: 'bullmq' })).toBe('bullmq')
    const reader = openDatabase(openPoolBy(url, { reading: true }))
    await expect(sql`delete from tasks`.execute(reader)).rejects.toMatchObject({ code: '25006' })
  })

  test.each<Mode>(['transaction', 'statement'])(
    'that shares sessions by %s every connection is refused with what to set, and nothing is set in a session of others',
    async (mode) => {
      const server = await freshUrl()
      const url = await before(server, mode)
      const everybody = { reading: true, ledger: true }
      const refused = openDatabase(openPoolBy(url, everybody))
      await expect(probeDatabase(refused)).rejects.toThrow(sentence)
      // The pooler still has the session of the refused connection.
      const other = new pg.Client({ connectionString: url })
      await other.connect()
      onTestFinished(() => other.end())
      const { rows } = await other.query<{ value: string }>(
        "select string_agg(setting, ' ' order by name) as value from pg_settings where name in ('default_transaction_read_only', 'lock_timeout', 'statement_timeout')",
      )
      expect(rows[0]?.value).toBe('off 0 0')
    },
  )

  test('a command exits with 5 and that sentence if sessions are shared', async () => {
    const DATABASE_URL = await before(await freshUrl(), 'transaction')
    const { stderr, code } = await run('status', [], { DATABASE_URL })
    expect([code, stderr]).toEqual([5, expect.stringMatching(sentence)])
  })

  test('the search service says that it needs a direct connection to PostgreSQL', async () => {
    const url = await before(await freshUrl(), 'session')
    await expect(openTables(url)).rejects.toThrow(
      /a direct connection to PostgreSQL at .* for the search service/,
    )
  })
})
