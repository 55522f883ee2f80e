import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Pool } from '../../../src/base/database/database.ts'
import { ensureAnalyst } from '../../../src/base/database/reader-role.ts'
import { installationId } from '../../../src/core/queue/open-slices.ts'
import { openAnalyst, readBatches } from '../../../src/features/analysis/ask.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { openDesk } from '../../support/desk.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'
import { dropReader } from './story.ts'

const home = temporaryFolder('walled')
const name = `wall_${process.pid}_${Date.now().toString(36)}`
let database: FreshDatabase
let installation: string
let url: string

beforeAll(async () => {
  database = await freshDatabase()
  installation = await installationId(database.db)
  await database.pool.query("insert into accounts (name, kind) values ('secret purse', 'live')")
  const login = new URL(database.url)
  login.username = name
  login.password = (await ensureAnalyst(database.pool, name)).password ?? ''
  url = login.href
})
afterAll(async () => {
  await database.pool.query(`drop role ${name}`)
  await dropReader(database.pool)
  await database.close()
})

const open = (address: string, of = installation) =>
  openAnalyst({ url: address, installation: of, name: 'test', max: 2 })

async function ask(pool: Pool, text: string): Promise<string> {
  const cells: string[] = []
  try {
    for await (const { rows } of readBatches(pool, {
      text,
      timeoutMs: 20_000,
      warn: () => undefined,
    }))
      cells.push(...rows.flat().map(String))
  } catch (error) {
    return `refused: ${String(error)}`
  }
  return cells.join(' ')
}

const leaving = [
  `select set_config('role', 'none', true), query_to_xml('select name from accounts', true, true, '')`,
  `select set_config('session_authorization', 'default', true), query_to_xml('select name from accounts', true, true, '')`,
  `select set_config('transaction_read_only', 'off', true), query_to_xml('delete from tasks', true, true, '')`,
]

describe("an analyst's login of its own", () => {
  test.each(leaving)('cannot be left by any statement, whatever role it sets: %s', async (text) => {
    const pool = await open(url)
    expect(await ask(pool, text)).toMatch(/^refused: /)
    expect(await ask(pool, 'select session_user')).toBe(name)
    await pool.end()
  })

  test('is needed, because the database user can leave the read-only role', async () => {
    expect(await ask(database.pool, leaving[0] ?? '')).toContain('secret purse')
  })

  test('is refused if it may do more than read, or leads to another database', async () => {
    await expect(open(database.url)).rejects.toThrow(
      'which can do more; npm run migrate -- --analyst',
    )
    await expect(open(url, 'another')).rejects.toThrow('got another database')
  })

  test('is used by the desk and npm run sql, and the desk says so', async () => {
    const settings = { MILL_ANALYST_URL: url }
    const plain = await openDesk(database.url)
    const walled = await openDesk(database.url, { settings })
    const path = `/sql?text=${encodeURIComponent('select session_user as who')}`
    const [first, second] = [await plain.get(path), await walled.get(path)]
    await plain.close()
    await walled.close()
    expect(first.text).toContain('MILL_ANALYST_URL')
    expect(first.text).not.toContain(name)
    expect(second.text).toContain(name)
    expect(second.text).not.toContain('MILL_ANALYST_URL')
    const env = { DATABASE_URL: database.url, MILL_HOME: home, ...settings }
    const told = await run('sql', ['--json', 'select session_user as who'], env)
    expect([told.code, JSON.parse(told.stdout).rows]).toEqual([0, [{ who: name }]])
  })
})
