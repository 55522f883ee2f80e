import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase, openPool } from '../../../src/base/database/database.ts'
import {
  checkDatabase,
  migrateDatabase,
  readMigrations,
} from '../../../src/base/database/migrate.ts'
import { WrongDatabase } from '../../../src/base/errors.ts'
import { emptyUrl, freshDatabase } from '../../support/database.ts'

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

  test('line ends that a checkout rewrote are no edit', () => {
    const folder = mkdtempSync(join(tmpdir(), 'querymill-migrations-'))
    const sum = (text: string) => {
      writeFileSync(join(folder, '0001_numbers.sql'), text)
      return readMigrations(folder)[0]?.sha256
    }
    expect(sum('select 1;\r\nselect 2;\r\n')).toBe(sum('select 1;\nselect 2;\n'))
    expect(sum('select 1;\nselect 3;\n')).not.toBe(sum('select 1;\nselect 2;\n'))
    rmSync(folder, { recursive: true })
  })

  test('nights that were left out for price, duration or being cancelled are shown again', async () => {
    const { pool } = await empty()
    await migrateDatabase(
      pool,
      files.filter(({ name }) => name < '0075'),
    )
    await pool.query(`
      insert into lists (name, source) values ('words', 'words.csv');
      insert into runs (list_id, run_date, kind, state, max_age_ms, suspect, finished_at)
      select 1, date '2026-01-01' + day, 'nightly', case day when 3 then 'cancelled' else 'done' end, 0, true, now()
      from generate_series(0, 4) as day;
      insert into tasks (run_id, query_id, slice, state)
      select id, gen_random_uuid(), 0, case id when 4 then 'cancelled' when 5 then 'unaffordable' else 'answered' end
      from runs;
      insert into night_health (run_id, asked, answered, empty, unreadable, minutes, workers, reasons)
      values
        (1, 9, 9, 0, 0, 3, 1, '{"an answer cost 3.0 credits, usually 1.0", "it took 7.0 hours, usually 0.5"}'),
        (2, 9, 9, 0, 0, 3, 1, '{"answers are 10 results deep, usually 96", "it took 7.0 hours, usually 0.5"}'),
        (3, 9, 9, 9, 0, 3, 1, '{"100 % of the answers have no result, usually 0 %"}'),
        (4, 9, 0, 0, 0, 3, 0, '{"none of 9 queries was answered, and no worker was at work"}'),
        (5, 9, 0, 0, 0, 3, 0, '{"none of 9 queries was answered, and no worker was at work"}')`)
    await migrateDatabase(pool)
    const { rows } = await pool.query({
      text: 'select suspect, reasons, remarks from runs join night_health on run_id = id order by id',
      rowMode: 'array',
    })
    const slow = 'it took 7.0 hours, usually 0.5'
    expect(rows).toEqual([
      [false, [], ['an answer cost 3.0 credits, usually 1.0', slow]],
      [true, ['answers are 10 results deep, usually 96'], [slow]],
      [true, ['100 % of the answers have no result, usually 0 %'], []],
      [false, [], []],
      [false, [], []],
    ])
  })

  test('queries that were lent an answer count as rested, and the views of it are gone', async () => {
    const { pool } = await empty()
    await migrateDatabase(
      pool,
      files.filter(({ name }) => name < '0076'),
    )
    await pool.query(`
      create view analysis.lent as select * from lendings;
      create view analysis.lent_results as select * from analysis.lent;
      create view analysis.coverage as select count(*) as lent from lendings;
      create view analysis.cadence as select lent_by from cadences;
      create view analysis.cadence_nights as select lent, differences from cadence_nights, cadence_draws;
      insert into lists (name, source) values ('words', 'words.csv');
      insert into cadence_nights
        (list_id, run_date, longest_days, queries, due, by_chance, rested, lent, lent_by_chance, intervals)
      values
        (1, '2026-01-01', 14, 20, 10, 1, 9, 0, 0, '{20}'),
        (1, '2026-01-02', 14, 20, 10, 1, 4, 3, 2, '{20}')`)
    await migrateDatabase(pool)
    const { rows } = await pool.query({
      text: `
        select due, by_chance, rested, to_regclass('analysis.lent') as lent, to_regclass('lendings') as lendings
        from cadence_nights
        order by run_date`,
      rowMode: 'array',
    })
    expect(rows).toEqual([
      [10, 1, 9, null, null],
      [10, 3, 7, null, null],
    ])
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
