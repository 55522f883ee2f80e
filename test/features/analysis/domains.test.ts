import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPool, type Pool } from '../../../src/base/database/database.ts'
import { ensureAnalyst } from '../../../src/base/database/reader-role.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'
import { dropReader, Story, ten } from './story.ts'

let database: FreshDatabase
const home = temporaryFolder('domains')
const call = (command: string, ...args: string[]) =>
  run(command, args, { DATABASE_URL: database.url, MILL_HOME: home, INIT_CWD: home })

beforeAll(async () => {
  database = await freshDatabase()
  await new Story(database.pool).night('2026-01-01', { shoes: ten('a') })
  await call('migrate')
})
afterAll(async () => {
  await dropReader(database.pool)
  await database.close()
})

/** Every row of every table, which a read-only command must leave unchanged. */
async function everything(pool: Pool): Promise<Record<string, unknown>> {
  const { rows } = await pool.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public' order by tablename",
  )
  const found: Record<string, unknown> = {}
  for (const { name } of rows) {
    const counted = await pool.query<{ all: unknown }>(
      `select jsonb_agg(to_jsonb(t) order by t::text) as all from public.${name} as t`,
    )
    found[name] = counted.rows[0]?.all
  }
  return found
}

describe('our domains', () => {
  test('are shown, set, ended and restored, each change with its lines', async () => {
    expect((await call('domains')).stdout).toMatch(/^no domain is marked as ours yet/)
    await call('domains', 'set', 'https-is-no-domain.com', '--since', '2026-01-01')
    const ended = await call('domains', 'end', 'https-is-no-domain.com', '--on', '2026-02-01')
    expect(ended.stdout.trim().split('\n')).toEqual([
      'removed  https-is-no-domain.com as https-is-no-domain.com, from 2026-01-01',
      'added  https-is-no-domain.com as https-is-no-domain.com, from 2026-01-01 until 2026-02-01',
    ])
    await call('domains', 'undo')
    expect(JSON.parse((await call('domains', 'list', '--json')).stdout)).toEqual({
      domains: [
        {
          domain: 'https-is-no-domain.com',
          label: 'https-is-no-domain.com',
          brand: null,
          since: '2026-01-01',
          until: null,
          rival: false,
        },
      ],
    })
  })

  test('in a file are loaded from it, and a file without any changes nothing', async () => {
    writeFileSync(join(home, 'ours.csv'), 'domain,label\nours.com,Ours\n')
    const loaded = await call('domains', 'load', 'ours.csv')
    expect(loaded.stdout).toContain('added  ours.com as Ours, from the beginning')
    const before = await everything(database.pool)
    const empty = await call('domains', 'load')
    expect(empty.code).toBe(2)
    expect(empty.stderr).toMatch(
      /expected inputs\/config\/domains.csv to contain a domain, got none/,
    )
    expect((await call('domains', 'set', 'https://x.com/')).code).toBe(2)
    expect(await everything(database.pool)).toEqual(before)
  })

  test('and those of rivals make brands: wildcards, folders, several domains, own and other', async () => {
    const added = await call('domains', 'set', 'www.Blog.ours.com/A/', '--brand', 'Ours & Co')
    expect(added.stdout).toBe(
      'added  blog.ours.com/A as blog.ours.com/A of Ours & Co, from the beginning\n',
    )
    await call('domains', 'set', '*.other.com', '--label', 'Other', '--rival')
    writeFileSync(join(home, 'old.csv'), 'domain,label,since,until\nours.com,Ours,,\n')
    const old = await call('domains', 'load', 'old.csv')
    expect(old.stdout).not.toContain('other.com')
    writeFileSync(
      join(home, 'all.csv'),
      'domain,label,brand,rival\nours.com,Ours,Ours & Co,\nb.com/x,B,,yes\n',
    )
    const loaded = await call('domains', 'load', 'all.csv')
    expect(loaded.stdout).toContain("added  b.com/x as B, a rival's, from the beginning")
    expect(loaded.stdout).toContain("removed  *.other.com as Other, a rival's, from the beginning")
    const { rows } = await database.pool.query(
      'select brand, domain, ours from analysis.brands where until is null order by ours, domain',
    )
    expect(rows).toEqual([
      { brand: 'B', domain: 'b.com/x', ours: false },
      { brand: 'Ours & Co', domain: 'ours.com', ours: true },
    ])
    const undone = await call('domains', 'undo')
    expect(undone.stdout).toContain("removed  b.com/x as B, a rival's, from the beginning")
    expect(undone.stdout).toContain("added  *.other.com as Other, a rival's, from the beginning")
    for (const odd of ['a.com/x?y=1', 'a.com//x', '*.*.com', '*.', 'a.com/x y']) {
      expect((await call('domains', 'set', odd)).code).toBe(2)
    }
  })

  test('cannot be changed by a read-only login, which gets a sentence', async () => {
    const name = `eve_${process.pid}_${Date.now().toString(36)}`
    const { password } = await ensureAnalyst(database.pool, name)
    const address = Object.assign(new URL(database.url), { username: name, password })
    const tried = await run('domains', ['end', 'ours.com'], {
      DATABASE_URL: address.href,
      MILL_HOME: home,
    })
    expect([tried.code, tried.stderr]).toEqual([
      2,
      'error: expected a login that may change our domains, got a read-only login\n',
    ])
    await database.pool.query(`drop role ${name}`)
  })
})

describe('read-only commands', () => {
  test.each([
    ['sql', 'select 1'],
    ['sql', 'shares'],
    ['export', 'movers', '--to', '-'],
    ['report', '--to', 'page.html'],
    ['status'],
    ['verify'],
    ['migrate'],
    ['domains', 'list'],
    ['alerts'],
    ['alerts', 'rules'],
  ])('leave every row of every table unchanged: %j', async (command, ...args) => {
    await database.pool.query(
      "insert into own_domains (domain, label) values ('kept.com', 'Kept') on conflict do nothing",
    )
    const before = await everything(database.pool)
    // The history of a test violates more checks than a real one; `verify` reports this, and changes nothing either.
    expect((await call(command, ...args)).code).toBe(command === 'verify' ? 1 : 0)
    expect(await everything(database.pool)).toEqual(before)
  })

  test('have connections through which nothing can be written', async () => {
    const pool = openPool(database.url, { name: 'test', reading: true })
    await expect(pool.query('delete from own_domains')).rejects.toThrow(/read-only transaction/)
    await pool.end()
  })
})
