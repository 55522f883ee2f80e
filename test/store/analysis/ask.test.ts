import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureAnalyst, readable, withheld } from '../../../src/store/analysis/analyst.ts'
import { readBatches, type Inquiry } from '../../../src/store/analysis/ask.ts'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'
import { dropReader, Story } from '../../analysis/story.ts'

let database: FreshDatabase
const name = `analyst_${process.pid}_${Date.now().toString(36)}`
let password: string
beforeAll(async () => {
  database = await freshDatabase()
  await new Story(database.pool).night('2026-01-01', { shoes: ['a.com/'] })
  password = (await ensureAnalyst(database.pool, name)).password ?? ''
})
afterAll(async () => {
  await database.pool.query(`drop role ${name}`)
  await dropReader(database.pool)
  await database.close()
})

async function read(text: string, more: Partial<Inquiry> = {}): Promise<unknown[]> {
  const rows: unknown[] = []
  const reading = { text, timeoutMs: 20_000, warn: () => undefined, ...more }
  for await (const batch of readBatches(database.pool, reading)) rows.push(...batch.rows)
  return rows
}

describe('a question', () => {
  test('reads views, tables and functions of analysts', async () => {
    expect(await read('select domain from analysis.ranks')).toEqual([['a.com']])
    expect(await read('select count(*) from public.searches')).toEqual([['1']])
    expect(await read("select * from analysis.keyword_clusters_on('2026-01-01')")).toEqual([])
    expect(await read('explain select 1')).toHaveLength(1)
    expect(await read('-- first a word\n/* then another */ (values (1), (2));  ')).toHaveLength(2)
  })

  test.each([
    'delete from tasks',
    "do $$ begin execute 'delete from tasks'; end $$",
    "copy (select 1) to program 'true'",
    'set role none',
    'select 1; delete from tasks',
    'with gone as (delete from tasks returning *) select * from gone',
    'select * into taken from tasks',
    'select * from accounts',
    'select * from workers',
    "select pg_read_file('/etc/hostname')",
    "select set_config('role', 'none', false), pg_read_file('/etc/hostname')",
    'select * from bullmq.job',
    'select * from nowhere',
  ])('that is no reading is refused: %s', async (text) => {
    await expect(read(text)).rejects.toThrow(/expected/)
    const { rows } = await database.pool.query('select count(*) as tasks from tasks')
    expect(rows).toEqual([{ tasks: 1 }])
  })

  test('finds every table either for analysts or withheld from them', async () => {
    const { rows } = await database.pool.query<{ table: string }>(
      `select relname as "table"
      from pg_class
      where relnamespace = 'public'::regnamespace
        and relkind in ('r', 'v')`,
    )
    expect(rows.map(({ table }) => table).toSorted()).toEqual([...readable, ...withheld].toSorted())
    for (const table of withheld) {
      await expect(read(`select * from ${table}`)).rejects.toThrow(
        `got: ${table}, a table of the mill's own bookkeeping`,
      )
    }
    await expect(read('select * from bullmq.job')).rejects.toThrow(/got: permission denied/)
  })

  test('that thinks too long is ended', async () => {
    await expect(read('select pg_sleep(30)', { timeoutMs: 50 })).rejects.toThrow(/time limit/)
  })

  test('leaves no setting behind for the next one', async () => {
    expect(
      await read("select current_setting('querymill.origins', true)", { origins: 'sandbox' }),
    ).toEqual([['sandbox']])
    expect(await read('select analysis.origins()')).toEqual([['{live}']])
    const { rows } = await database.pool.query('select current_user = session_user as myself')
    expect(rows).toEqual([{ myself: true }])
  })
})

describe('an analyst', () => {
  async function as<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    const url = new URL(database.url)
    url.username = name
    url.password = password
    const client = new pg.Client({ connectionString: url.href })
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

  test('writes nothing even after lifting the courtesies', async () => {
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

  test('made a second time keeps the password and the rights', async () => {
    expect(await ensureAnalyst(database.pool, name)).toEqual({ name, password: null })
    expect(await as(async (client) => (await client.query('select 1 as a')).rows)).toEqual([
      { a: 1 },
    ])
  })

  test('never takes over a role that is another one’s', async () => {
    const { rows } = await database.pool.query<{ me: string }>('select current_user as me')
    await expect(ensureAnalyst(database.pool, rows[0]?.me ?? '')).rejects.toThrow(
      /another name|small letters/,
    )
    await expect(ensureAnalyst(database.pool, 'Robert"; drop table tasks')).rejects.toThrow(
      /small letters/,
    )
  })
})
