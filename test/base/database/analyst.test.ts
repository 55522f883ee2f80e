import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPool } from '../../../src/base/database/database.ts'
import { ensureAnalyst } from '../../../src/base/database/reader-role.ts'
import { root } from '../../../src/base/root.ts'
import { dropReader, Story } from '../../features/analysis/story.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'

let database: FreshDatabase
const name = `grace_${process.pid}_${Date.now().toString(36)}`
const home = temporaryFolder('login')
const url = { owner: '', analyst: '' }
beforeAll(async () => {
  database = await freshDatabase()
  await new Story(database.pool).night('2026-01-01', { shoes: ['a.com/'] })
  await database.pool.query(`
    insert into accounts (id, name, kind) overriding system value values (1, 'ours', 'live') on conflict do nothing;
    update calls set credits_remaining = 900`)
  const login = new URL(database.url)
  url.owner = login.href
  login.username = name
  login.password = (await ensureAnalyst(database.pool, name)).password ?? ''
  url.analyst = login.href
})
afterAll(async () => {
  await database.pool.query(`drop role ${name}`)
  await dropReader(database.pool)
  await database.close()
})

const call = (login: keyof typeof url, command: string, ...args: string[]) =>
  run(command, args, { DATABASE_URL: url[login], MILL_HOME: home, INIT_CWD: home })

test("an analyst's login gets the page without balances, which it may not read", async () => {
  const page = async (login: keyof typeof url) => {
    const { code, stderr } = await call(login, 'report', '--to', 'page.html', '--domains', 'a.com')
    expect([code, stderr]).toEqual([0, `the report is in ${join(home, 'page.html')}\n`])
    return readFileSync(join(home, 'page.html'), 'utf8')
  }
  expect(await page('owner')).toContain('Balance of')
  const shown = await page('analyst')
  expect(shown).toContain('Rank history of a.com')
  expect(shown).not.toContain('Balance of')
})

test.each([
  ['status', [], 'permission denied for \\w+ \\w+'],
  ['verify', [], 'permission denied for \\w+ \\w+'],
  ['enqueue', [join(root, 'inputs/keywords.csv')], '.+'],
])(
  "%s with an analyst's login exits with one line that names the login it needs",
  async (command, args, reason) => {
    const { code, stdout, stderr } = await call('analyst', command, ...args)
    expect(stderr).toMatch(
      new RegExp(
        `^error: expected a login that may read and change querymill's tables, got ${reason}; set DATABASE_URL to .+\\n$`,
      ),
    )
    expect([code, stdout]).toEqual([5, ''])
  },
)

describe('an analyst', () => {
  async function as<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: url.analyst })
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }

  test('logs in, reads, and finds views without naming their schema', async () => {
    const rows = await as(
      async (client) => (await client.query('select q, domain from results')).rows,
    )
    expect(rows).toEqual([{ q: 'shoes', domain: 'a.com' }])
  })

  test('can’t write even after changing its default settings', async () => {
    await as(async (client) => {
      await client.query('set default_transaction_read_only = off')
      await client.query('set statement_timeout = 0')
      for (const text of [
        'delete from tasks',
        "insert into lists (name, source) values ('x', 'x')",
        'update searches set depth = 0',
        'drop view analysis.movers',
        'create view analysis.mine as select 1',
        'select * from accounts',
        'select * from workers',
        `alter role ${name} superuser`,
      ]) {
        await expect(client.query(text)).rejects.toThrow(/permission denied|must be/)
      }
    })
  })

  test('writes notes, which the report shows, and its own tables in scratch', async () => {
    await as(async (client) => {
      await client.query(
        "insert into notes.annotations (date, text) values ('2026-01-01', 'shop <moved>')",
      )
      await client.query('create table scratch.mine as select q from results')
      expect((await client.query('select author from annotations')).rows).toEqual([
        { author: name },
      ])
      expect((await client.query('select q from mine')).rows).toEqual([{ q: 'shoes' }])
      await client.query('drop table scratch.mine')
    })
    expect((await call('owner', 'report', '--to', 'page.html')).code).toBe(0)
    const page = readFileSync(join(home, 'page.html'), 'utf8')
    expect(page).toMatch(/<h2>Notes<\/h2>.*<li>\s*2026-01-01: shop &lt;moved&gt;/s)
    expect(page).toMatch(/<g class="note"\s*><title>2026-01-01: shop &lt;moved&gt;<\/title/)
    const asked = await call('analyst', 'export', 'annotations', '--to', '-')
    expect(asked.stdout).toMatch(/^1,2026-01-01,shop <moved>,\*,/m)
  })

  test('can neither take an advisory lock nor lift its limits on connections and temporary files', async () => {
    await as(async (client) => {
      for (const text of [
        "select pg_advisory_lock(hashtextextended('main', 0))",
        'select pg_try_advisory_lock_shared(1)',
        'select pg_advisory_xact_lock(1, 2)',
        'set temp_file_limit = -1',
        `alter role ${name} connection limit -1`,
      ]) {
        await expect(client.query(text)).rejects.toThrow(/permission denied/)
      }
    })
    // The program itself can still take them.
    await database.pool.query('select pg_advisory_xact_lock(1)')
    // A closed session counts until the server has ended it, so nine connections are tried again until only one fails.
    const refusedOfNine = async () => {
      const more = openPool(url.analyst, { name: 'test', max: 9 })
      const opened = await Promise.allSettled(Array.from({ length: 9 }, () => more.connect()))
      for (const one of opened) if (one.status === 'fulfilled') one.value.release()
      await more.end()
      return opened.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
    }
    await expect
      .poll(refusedOfNine)
      .toEqual([expect.stringMatching(/too many connections for role/)])
  })

  test('changes and removes only its own notes, whatever name it claims', async () => {
    const other = `${name}_b`
    const login = new URL(url.analyst)
    login.username = other
    login.password = (await ensureAnalyst(database.pool, other)).password ?? ''
    const second = new pg.Client({ connectionString: login.href })
    await second.connect()
    const written = "insert into notes.annotations (date, text) values ('2026-01-02', 'mine')"
    await second.query(written)
    await as(async (client) => {
      const touched = [
        await client.query("update notes.annotations set text = 'x' where text = 'mine'"),
        await client.query("delete from notes.annotations where text = 'mine'"),
      ]
      expect(touched.map(({ rowCount }) => rowCount)).toEqual([0, 0])
      const forged =
        "insert into notes.annotations (date, text, author) values ('2026-01-02', 'x', $1)"
      await expect(client.query(forged, [other])).rejects.toThrow(/row-level security/)
    })
    const removed = await second.query("delete from notes.annotations where text = 'mine'")
    expect(removed.rowCount).toBe(1)
    await second.end()
    await database.pool.query(`drop role ${other}`)
  })

  test('keeps password and rights when it is created a second time', async () => {
    expect(await ensureAnalyst(database.pool, name)).toEqual({ name, password: null })
    expect(await as(async (client) => (await client.query('select 1 as a')).rows)).toEqual([
      { a: 1 },
    ])
  })

  test('never takes over another role', async () => {
    const { rows } = await database.pool.query<{ me: string }>('select current_user as me')
    await expect(ensureAnalyst(database.pool, rows[0]?.me ?? '')).rejects.toThrow(
      /another name|small letters/,
    )
    await expect(ensureAnalyst(database.pool, 'Robert"; drop table tasks')).rejects.toThrow(
      /lower-case letters/,
    )
  })
})
