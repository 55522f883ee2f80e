import { afterEach, beforeEach, expect, test } from 'vitest'
import { applyViews, readViews } from '../../../src/base/database/migrate.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeEach(async () => {
  database = await freshDatabase()
})
afterEach(() => database.close())

const file = (text: string) => ({
  name: 'sample',
  path: 'base/sample.sql',
  text,
  checksum: text,
})
const apply = (text: string, words: [string, string][] = []) =>
  applyViews(database.pool, { files: [file(text)], words: Object.fromEntries(words) })
const first = 'create or replace view analysis.sample as select 1 as a'

test('unchanged views are left alone', async () => {
  expect(await applyViews(database.pool)).toEqual([])
})

test('a changed view is replaced, and a new column is added at the end', async () => {
  expect(await apply(first)).toEqual(['sample'])
  expect(await apply(first)).toEqual([])
  expect(await apply(`${first}, 2 as b`)).toEqual(['sample'])
  expect((await database.pool.query('select * from analysis.sample')).rows).toEqual([
    { a: 1, b: 2 },
  ])
})

test('a removed or renamed column is refused, and the view stays unchanged', async () => {
  await apply(`${first}, 2 as b`)
  await expect(apply(first)).rejects.toThrow(/a view's columns cannot change/)
  await expect(
    apply('create or replace view analysis.sample as select 1 as z, 2 as b'),
  ).rejects.toThrow(/sql\/views\/base\/sample.sql/)
  expect((await database.pool.query('select * from analysis.sample')).rows).toEqual([
    { a: 1, b: 2 },
  ])
})

test('a column without its own comment gets the shared one for its name', async () => {
  await apply(`${first}, 2 as b; comment on column analysis.sample.a is 'Mine.'`, [
    ['a', 'Everybody’s.'],
    ['b', 'It is b’s.'],
  ])
  const { rows } = await database.pool
    .query(`select col_description('analysis.sample'::regclass, attnum) as said
    from pg_attribute where attrelid = 'analysis.sample'::regclass and attnum > 0 order by attnum`)
  expect(rows).toEqual([{ said: 'Mine.' }, { said: 'It is b’s.' }])
})

test('while a view is read, its change waits and others can still read it', async () => {
  await apply(first)
  const reader = await database.pool.connect()
  await reader.query('begin')
  await reader.query('select * from analysis.sample')
  let done = false
  const change = apply(`${first}, 2 as b`).then(() => (done = true))
  for (let question = 0; question < 5; question++) {
    expect((await database.pool.query('select a from analysis.sample')).rows).toEqual([{ a: 1 }])
  }
  expect(done).toBe(false)
  await reader.query('commit')
  reader.release()
  await change
  expect((await database.pool.query('select * from analysis.sample')).rows).toEqual([
    { a: 1, b: 2 },
  ])
})

test('two concurrent migrations apply every view', async () => {
  const files = [file(first)]
  const both = await Promise.all([
    applyViews(database.pool, { files, words: {} }),
    applyViews(database.pool, { files, words: {} }),
  ])
  expect(both.flat()).toContain('sample')
  expect((await database.pool.query('select * from analysis.sample')).rows).toEqual([{ a: 1 }])
})

test('every view depends only on earlier views', () => {
  const { files } = readViews()
  const names = files.map(({ name }) => name)
  expect(names.indexOf('observations')).toBeLessThan(names.indexOf('steps'))
  expect(names.indexOf('steps')).toBeLessThan(names.indexOf('movers'))
  expect(names.indexOf('movers')).toBeLessThan(names.indexOf('page_switches'))
})

test('every analyst view, function and column has a comment', async () => {
  const { rows } = await database.pool.query<{ name: string }>(`
    select pg_class.relname || coalesce('.' || attname, '') as name
    from pg_class
    left join pg_attribute on attrelid = pg_class.oid and attnum > 0
    where relnamespace in ('analysis'::regnamespace, 'public'::regnamespace)
      and relkind = 'v'
      and (obj_description(pg_class.oid, 'pg_class') is null or col_description(pg_class.oid, attnum) is null)
    union all
    select proname
    from pg_proc
    where pronamespace = 'analysis'::regnamespace
      and obj_description(oid, 'pg_proc') is null
    order by 1`)
  expect(rows.map(({ name }) => name)).toEqual([])
})
