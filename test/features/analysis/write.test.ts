import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBatches } from '../../../src/features/analysis/ask.ts'
import { writeParquet } from '../../../src/features/analysis/parquet.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'

let database: FreshDatabase
const folder = temporaryFolder('parquet')
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

async function write(name: string, text: string): Promise<string> {
  const pieces: Uint8Array[] = []
  const reading = { text, timeoutMs: 60_000, warn: () => undefined }
  for await (const piece of writeParquet(readBatches(database.pool, reading))) pieces.push(piece)
  const path = join(folder, name)
  writeFileSync(path, Buffer.concat(pieces))
  return path
}

/** The reader's own timestamps have a resolution of a millisecond. */
const asTold = { timestampFromMicroseconds: (micros: bigint) => micros }

const id = '00000000-0000-4000-8000-0123456789ab'
const everything = `
  select
    date '2026-02-28' as day,
    timestamptz '2026-02-28 23:59:59.123456+05:30' as instant,
    '${id}'::uuid as id,
    9007199254740993::bigint as big,
    -7 as small,
    0.25::double precision as share,
    1234.5678::numeric as rounded,
    true as yes,
    '{"n": 12345678901234567890, "a": "\u{1f600}"}'::jsonb as document,
    array['a', null, 'ü,"x"'] as texts,
    array[1, 2]::bigint[] as numbers,
    interval '1 day' as span,
    'Grüße' as words
  union all
  select null, null, null, null, null, null, null, null, null, null, null, null, null`

test('every type is read back value by value, and null as null, by hyparquet', async () => {
  const file = await asyncBufferFromFile(await write('types.parquet', everything))
  const [row, nothing] = await parquetReadObjects({ file })
  expect(row).toEqual({
    day: new Date('2026-02-28T00:00:00Z'),
    instant: new Date('2026-02-28T18:29:59.123Z'),
    id,
    big: 9007199254740993n,
    small: -7,
    share: 0.25,
    rounded: 1234.5678,
    yes: true,
    document: { n: Number('12345678901234567890'), a: '\u{1f600}' },
    texts: ['a', null, 'ü,"x"'],
    numbers: [1n, 2n],
    span: '1 day',
    words: 'Grüße',
  })
  expect(Object.values(nothing ?? {}).map((value) => value ?? null)).toEqual(
    Array.from({ length: 13 }, () => null),
  )
})

test('a file declares its column types, with microseconds and the last digit of JSON in it', async () => {
  const path = await write('said.parquet', everything)
  const file = await asyncBufferFromFile(path)
  const { schema } = await parquetMetadataAsync(file)
  const said = schema.map(({ name, type, converted_type, logical_type }) =>
    [name, type, converted_type ?? logical_type?.type]
      .filter((word) => word !== undefined)
      .join(' '),
  )
  expect(said).toEqual([
    'root',
    'day INT32 DATE',
    'instant INT64 TIMESTAMP_MICROS',
    'id FIXED_LEN_BYTE_ARRAY UUID',
    'big INT64',
    'small INT32',
    'share DOUBLE',
    'rounded DOUBLE',
    'yes BOOLEAN',
    'document BYTE_ARRAY JSON',
    'texts LIST',
    'list',
    'element BYTE_ARRAY UTF8',
    'numbers LIST',
    'list',
    'element INT64',
    'span BYTE_ARRAY UTF8',
    'words BYTE_ARRAY UTF8',
  ])
  const [row] = await parquetReadObjects({ file, columns: ['instant'], parsers: asTold })
  expect(row).toEqual({ instant: BigInt(Date.parse('2026-02-28T18:29:59Z')) * 1000n + 123456n })
  expect(readFileSync(path).includes('{"a": "\u{1f600}", "n": 12345678901234567890}')).toBe(true)
})

test('a long answer is written group by group, and an empty one has its columns', async () => {
  const text = "select n, 'text ' || n as words from generate_series(1, 45000) as n"
  const file = await asyncBufferFromFile(await write('long.parquet', text))
  const metadata = await parquetMetadataAsync(file)
  expect(metadata.row_groups.map((group) => Number(group.num_rows))).toEqual([
    20_000, 20_000, 5_000,
  ])
  const rows = await parquetReadObjects({ file })
  expect(rows.map(({ n, words }) => `${n} ${words}`)).toEqual(
    Array.from({ length: 45_000 }, (_, index) => `${index + 1} text ${index + 1}`),
  )
  const empty = await write('empty.parquet', 'select 1 as a where false')
  const none = await parquetMetadataAsync(await asyncBufferFromFile(empty))
  expect([Number(none.num_rows), none.schema.map(({ name }) => name)]).toEqual([0, ['root', 'a']])
})
