import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { WrongDatabase } from '../../src/errors.ts'
import { openDatabase, openPool, type Database } from '../../src/store/database.ts'
import { readMigrations } from '../../src/store/files.ts'
import { checkDatabase, migrateDatabase } from '../../src/store/migrate.ts'
import { emptyUrl, freshDatabase } from '../support/database.ts'

const files = readMigrations()
const open: { end(): Promise<void> }[] = []
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.end()
})

async function empty() {
  const url = await emptyUrl()
  const pool = openPool(url, { name: 'test', max: 4 })
  open.push(pool)
  return { url, pool, db: openDatabase(pool) }
}

async function tablesOf(db: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select table_schema || '.' || table_name as name
    from information_schema.tables
    where table_schema not in ('pg_catalog', 'information_schema')
  `.execute(db)
  return rows.map((row) => row.name)
}

const numbers = (text: string) => [{ name: '0001_numbers', text, sha256: `sum of ${text}` }]

describe('migrations', () => {
  test('an empty database gets every table, and a second time changes nothing', async () => {
    const { pool, db } = await empty()
    expect(await migrateDatabase(pool)).toEqual(files.map((file) => file.name))
    expect(await tablesOf(db)).toEqual(
      expect.arrayContaining(['public.lists', 'public.calls', 'migrations.applied']),
    )
    expect(await migrateDatabase(pool)).toEqual([])
    await checkDatabase(db)
  })

  test('when four hosts start at once, each migration is applied by one of them', async () => {
    const { url } = await empty()
    const pools = [1, 2, 3, 4].map((host) => openPool(url, { name: `host ${host}`, max: 2 }))
    open.push(...pools)
    const applied = await Promise.all(pools.map((pool) => migrateDatabase(pool)))
    expect(applied.flat().toSorted()).toEqual(files.map((file) => file.name))
  })

  test('a file edited after it was applied is refused, and the database stays as it was', async () => {
    const { pool, db } = await empty()
    await migrateDatabase(pool, numbers('create table numbers (n integer)'))
    const edited = numbers('create table numbers (n bigint)')
    await expect(migrateDatabase(pool, edited)).rejects.toThrow(/0001_numbers.*edited file/)
    await expect(checkDatabase(db, edited)).rejects.toThrow(WrongDatabase)
    const { rows } = await sql`select pg_typeof(n)::text as type from numbers`.execute(db)
    expect(rows).toEqual([])
  })

  test('line ends that a checkout rewrote are no edit', async () => {
    const [first] = files
    expect(first?.text).not.toContain('\r')
    expect(readMigrations()[0]?.sha256).toBe(first?.sha256)
  })

  test('a database that a newer release migrated is refused by an older one', async () => {
    const { pool } = await empty()
    const older = numbers('create table numbers (n integer)')
    await migrateDatabase(pool, [...older, { name: '0002_more', text: 'select 1', sha256: 'x' }])
    await expect(migrateDatabase(pool, older)).rejects.toThrow(
      /newer release migrated \(0002_more\)/,
    )
  })

  test('a migration that fails leaves nothing behind and says which one', async () => {
    const { pool, db } = await empty()
    const broken = numbers('create table numbers (n integer); create table numbers (n integer)')
    await expect(migrateDatabase(pool, broken)).rejects.toThrow(
      /migration 0001_numbers.*already exists/,
    )
    expect(await tablesOf(db)).not.toContain('public.numbers')
  })

  test('a database without tables is told apart from one with too few migrations', async () => {
    const { pool, db } = await empty()
    await expect(checkDatabase(db)).rejects.toThrow(/got none; type npm run migrate/)
    await migrateDatabase(pool, files.slice(0, 1))
    const more = [...files, { name: '9999_later', text: 'select 1', sha256: 'x' }]
    await expect(checkDatabase(db, more)).rejects.toThrow(/too few; type npm run migrate/)
  })

  test('every table and column carries a comment', async () => {
    const database = await freshDatabase()
    const { rows } = await sql<{ name: string }>`
      select c.relname || coalesce('.' || a.attname, '') as name
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      left join lateral (
        select attname, attnum from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped
        union all
        select null, 0
      ) a on true
      where n.nspname in ('public', 'analysis')
        and c.relkind in ('r', 'v', 'm', 'p')
        and coalesce(col_description(c.oid, nullif(a.attnum, 0)), obj_description(c.oid, 'pg_class')) is null
        or (a.attnum > 0 and col_description(c.oid, a.attnum) is null
          and n.nspname in ('public', 'analysis') and c.relkind in ('r', 'v', 'm', 'p'))
      order by 1
    `.execute(database.db)
    await database.close()
    expect(rows.map((row) => row.name)).toEqual([])
  })
})
