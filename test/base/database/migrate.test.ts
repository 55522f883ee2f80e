import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase, openPool } from '../../../src/base/database/database.ts'
import {
  checkDatabase,
  migrateDatabase,
  readMigrations,
} from '../../../src/base/database/migrate.ts'
import { WrongDatabase } from '../../../src/base/errors.ts'
import { root } from '../../../src/base/root.ts'
import { emptyUrl, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'

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
  let folder: string
  beforeEach(() => {
    folder = temporaryFolder('sql')
    cpSync(join(root, 'sql', 'schema'), join(folder, 'schema'), { recursive: true })
  })

  test('an empty database gets every table, and a second migration changes nothing', async () => {
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

  test('a file edited after it was applied is refused, and the database stays unchanged', async () => {
    const { pool, db } = await empty()
    await migrateDatabase(pool, numbers('create table numbers (n integer)'))
    const edited = numbers('create table numbers (n bigint)')
    await expect(migrateDatabase(pool, edited)).rejects.toThrow(/0001_numbers.*edited file/)
    await expect(checkDatabase(db, edited)).rejects.toThrow(WrongDatabase)
    const { rows } = await sql`select pg_typeof(n)::text as type from numbers`.execute(db)
    expect(rows).toEqual([])
  })

  test('line ends that a checkout rewrote are no edit', () => {
    const sum = (text: string) => {
      writeFileSync(join(folder, 'schema', 'lists.sql'), text)
      return readMigrations(folder)[0]?.sha256
    }
    expect(sum('select 1;\r\nselect 2;\r\n')).toBe(sum('select 1;\nselect 2;\n'))
    expect(sum('select 1;\nselect 3;\n')).not.toBe(sum('select 1;\nselect 2;\n'))
  })

  test('files of sql/migrations follow the baseline, in the order of their numbers', async () => {
    expect(readMigrations(folder).map(({ name }) => name)).toEqual(['0001_schema'])
    mkdirSync(join(folder, 'migrations'))
    writeFileSync(
      join(folder, 'migrations', '0003_fewer.sql'),
      'alter table lists drop column more',
    )
    writeFileSync(
      join(folder, 'migrations', '0002_more.sql'),
      'alter table lists add column more text',
    )
    const later = readMigrations(folder)
    expect(later.map(({ name }) => name)).toEqual(['0001_schema', '0002_more', '0003_fewer'])
    const { pool, db } = await empty()
    await migrateDatabase(pool, later.slice(0, 1))
    expect(await migrateDatabase(pool, later)).toEqual(['0002_more', '0003_fewer'])
    await checkDatabase(db, later)
  })

  test('every file of the baseline is applied, and an edited one is named', async () => {
    const present = readdirSync(join(folder, 'schema'))
    const read = readMigrations(folder)[0]?.text ?? ''
    expect(
      present.filter((name) => !read.includes(readFileSync(join(folder, 'schema', name), 'utf8'))),
    ).toEqual([])
    const { pool } = await empty()
    await migrateDatabase(pool)
    writeFileSync(join(folder, 'schema', 'lists.sql'), '-- Edited.')
    await expect(migrateDatabase(pool, readMigrations(folder))).rejects.toThrow(
      /^expected sql\/schema to be unchanged since it was applied, got an edited file/,
    )
  })

  test('a database that a newer release migrated is refused by an older one', async () => {
    const { pool } = await empty()
    const older = numbers('create table numbers (n integer)')
    await migrateDatabase(pool, [...older, { name: '0002_more', text: 'select 1', sha256: 'x' }])
    await expect(migrateDatabase(pool, older)).rejects.toThrow(
      /migrated by a newer release \(0002_more\)/,
    )
  })

  test('a failing migration leaves nothing behind and is named', async () => {
    const { pool, db } = await empty()
    const broken = numbers('create table numbers (n integer); create table numbers (n integer)')
    await expect(migrateDatabase(pool, broken)).rejects.toThrow(
      /migration 0001_numbers.*already exists/,
    )
    expect(await tablesOf(db)).not.toContain('public.numbers')
  })

  test('a database without tables is distinguished from one with too few migrations', async () => {
    const { pool, db } = await empty()
    await expect(checkDatabase(db)).rejects.toThrow(/got none; run: npm run migrate/)
    await migrateDatabase(pool)
    const more = [...files, { name: '9999_later', text: 'select 1', sha256: 'x' }]
    await expect(checkDatabase(db, more)).rejects.toThrow(
      /got a database that lacks \d+; run: npm run migrate/,
    )
  })

  test('every table and column has a comment', async () => {
    const database = await freshDatabase()
    const { rows } = await sql<{ name: string }>`
      with relations as (
        select oid, relname from pg_class
        where relnamespace = any (array(
            select oid from pg_namespace where nspname in ('public', 'analysis', 'notes')
          ))
          and relkind in ('r', 'v', 'm', 'p')
      )
      select relname as name from relations
      where obj_description(oid, 'pg_class') is null
      union all
      select relname || '.' || attname
      from relations join pg_attribute on attrelid = oid
      where attnum > 0
        and not attisdropped
        and col_description(oid, attnum) is null
    `.execute(database.db)
    await database.close()
    expect(rows.map((row) => row.name)).toEqual([])
  })
})
