import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureReader, readable, withheld } from '../../../src/base/database/reader-role.ts'
import { type Inquiry, readBatches } from '../../../src/features/analysis/ask.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { dropReader, Story } from './story.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await ensureReader(database.pool)
  await new Story(database.pool).night('2026-01-01', { shoes: ['a.com/'] })
})
afterAll(async () => {
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
    expect(await read("select * from analysis.keyword_groups_on('2026-01-01')")).toEqual([])
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
  ])('that is not a read is refused: %s', async (text) => {
    await expect(read(text)).rejects.toThrow(/expected|the database cannot answer this question/)
    const { rows } = await database.pool.query('select count(*) as tasks from tasks')
    expect(rows).toEqual([{ tasks: 1 }])
  })

  test('classifies every table as readable for analysts or withheld from them', async () => {
    const { rows } = await database.pool.query<{ table: string }>(
      `select relname as "table"
      from pg_class
      where relnamespace = 'public'::regnamespace
        and relkind in ('r', 'v')`,
    )
    expect(rows.map(({ table }) => table).toSorted()).toEqual([...readable, ...withheld].toSorted())
    for (const table of withheld) {
      await expect(read(`select * from ${table}`)).rejects.toThrow(
        `got: ${table}, an internal table of querymill`,
      )
    }
    await expect(read('select * from bullmq.job')).rejects.toThrow(/got: permission denied/)
  })

  test('that takes too long is cancelled', async () => {
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
