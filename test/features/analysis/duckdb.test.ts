// @module-tag slow
// Parquet files, read back by an independent program.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBatches } from '../../../src/features/analysis/ask.ts'
import { writeParquet } from '../../../src/features/analysis/parquet.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { tellByChance } from './chance.ts'
import { Story } from './story.ts'

let database: FreshDatabase
let duck: DuckDBConnection
const folder = temporaryFolder('duckdb')
beforeAll(async () => {
  database = await freshDatabase()
  duck = await (await DuckDBInstance.create(':memory:')).connect()
  await duck.run("set TimeZone = 'UTC'")
})
afterAll(async () => {
  duck.closeSync()
  await database.close()
})

async function write(name: string, text: string): Promise<string> {
  const pieces: Uint8Array[] = []
  const reading = { text, timeoutMs: 60_000, warn: () => undefined }
  for await (const piece of writeParquet(readBatches(database.pool, reading))) pieces.push(piece)
  const path = join(folder, name)
  writeFileSync(path, Buffer.concat(pieces))
  return path
}

const inDuck = async (text: string) => (await duck.runAndReadAll(text)).getRowsJS()

async function inPostgres(text: string): Promise<unknown[][]> {
  return (await database.pool.query<unknown[]>({ text, rowMode: 'array' })).rows
}

const drawn = `
  select
    n,
    case when n % 7 > 0 then date '2024-02-26' + n % 800 end as day,
    case when n % 5 > 0 then timestamptz '2026-03-28 22:59:59.999999Z' + n * interval '1 hour 1 microsecond' end as instant,
    case when n % 3 > 0 then md5(n::text)::uuid end as id,
    case when n % 4 > 0 then 9223372036854775807 - n end as big,
    case when n % 6 > 0 then -n end as small,
    case when n % 9 > 0 then n / 7.0::double precision end as share,
    case when n % 8 > 0 then n % 2 = 0 end as yes,
    case when n % 10 > 0 then 'word ' || chr(200 + n % 40000) || repeat('"', n % 3) || chr(128512 + n % 50) end as words,
    case when n % 11 > 0 then array[n, null, -n]::bigint[] end as numbers,
    case when n % 12 > 0 then array['a' || n, null, ''] end as texts
  from generate_series(1, 25000) as n`

test('DuckDB reads every value of every written type, and nulls as null', async () => {
  const path = await write('drawn.parquet', drawn)
  // Both sides convert their values to numbers and texts that can be compared exactly.
  const read =
    await inDuck(`select n, day::varchar, epoch_us(instant)::varchar, id::varchar, big::varchar, small, share,
    yes, words, array_to_string([coalesce(x::varchar, '-') for x in numbers], ','), len(numbers)::integer,
    array_to_string([coalesce(x, '-') for x in texts], ','), len(texts)::integer
    from '${path}' order by n`)
  const kept =
    await inPostgres(`select n, day::text, (extract(epoch from instant) * 1000000)::bigint::text, id::text,
    big::text, small, share, yes, words, array_to_string(numbers, ',', '-'), cardinality(numbers),
    array_to_string(texts, ',', '-'), cardinality(texts)
    from (${drawn}) as drawn order by n`)
  expect(read).toHaveLength(25_000)
  expect(read).toEqual(kept)
})

test('DuckDB reads days, instants, uuids, numbers, lists and JSON as these types', async () => {
  const path = await write(
    'types.parquet',
    `${drawn.replace('n,', `n, '{"deep": [12345678901234567890]}'::jsonb as document,`)} limit 1`,
  )
  expect(
    await inDuck(`select column_name, column_type from (describe select * from '${path}')`),
  ).toEqual([
    ['n', 'INTEGER'],
    ['document', 'JSON'],
    ['day', 'DATE'],
    ['instant', 'TIMESTAMP WITH TIME ZONE'],
    ['id', 'UUID'],
    ['big', 'BIGINT'],
    ['small', 'INTEGER'],
    ['share', 'DOUBLE'],
    ['yes', 'BOOLEAN'],
    ['words', 'VARCHAR'],
    ['numbers', 'BIGINT[]'],
    ['texts', 'VARCHAR[]'],
  ])
  expect(await inDuck(`select document->>'$.deep[0]' from '${path}'`)).toEqual([
    ['12345678901234567890'],
  ])
})

test('DuckDB reads an exported view with the same rows', async () => {
  await tellByChance(new Story(database.pool), { seed: 7, days: 5 })
  const path = await write('movers.parquet', 'select * from analysis.movers')
  const sums = (
    from: string,
    text: string,
  ) => `select change, count(*)::integer, sum(coalesce(position, 0))::integer,
    min(run_date)::${text}, max(query_id::${text}), min(url_key) from ${from} group by change order by change`
  const kept = await inPostgres(sums('analysis.movers', 'text'))
  expect(kept.length).toBeGreaterThan(2)
  expect(await inDuck(sums(`'${path}'`, 'varchar'))).toEqual(kept)
})
