// @module-tag slow
import { join } from 'node:path'
import { fc } from '@fast-check/vitest'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyOut, enterRows, type FiledColumn } from '../../../src/features/archive/copy.ts'
import {
  archivedTables,
  copiedColumn,
  readColumns,
  teachBytes,
} from '../../../src/features/archive/days.ts'
import { ParquetEngine } from '../../../src/features/archive/engine.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'

let database: FreshDatabase
let client: PoolClient
let engine: ParquetEngine
const folder = temporaryFolder('engine')
beforeAll(async () => {
  database = await freshDatabase()
  client = await database.pool.connect()
  await client.query("set timezone = 'UTC'")
  await teachBytes(client)
  engine = await ParquetEngine.open()
})
afterAll(async () => {
  engine.close()
  client.release()
  await database.close()
})

const words = fc
  .string({ unit: 'binary', maxLength: 40 })
  .map((given) => given.replaceAll('\0', ' '))
const whole = (bits: bigint) =>
  fc.bigInt({ min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n }).map(String)
const often = (...texts: string[]) => fc.constantFrom(...texts)
const instants = fc
  .tuple(
    fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true }),
    fc.integer({ min: 0, max: 999 }),
  )
  .map(([date, micros]) => `${date.toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`)

/** Values for each type as the server reads them: random ones, and ones that once failed. */
const hostile: Readonly<Record<string, fc.Arbitrary<string>>> = {
  text: fc.oneof(
    words,
    often(
      '',
      ' ',
      'NULL',
      '\\N',
      '\\.',
      '\n\\.\n',
      '"',
      '""',
      '","',
      '\r',
      '\r\n',
      '\n',
      '\t',
      ',',
    ),
    often(
      '\u{feff}mark',
      '\u{1}',
      '\u{7f}',
      '\u{85}',
      '\u{2028}',
      '\u{1f600}',
      '{a,b}',
      "it's",
      '\\',
    ),
    often('long '.repeat(20_000)),
  ),
  bigint: fc.oneof(whole(64n), often('9223372036854775807', '-9223372036854775808', '0')),
  integer: fc.oneof(whole(32n), often('2147483647', '-2147483648')),
  smallint: fc.oneof(whole(16n), often('32767', '-32768')),
  boolean: often('t', 'f'),
  uuid: fc.oneof(
    fc.uuid(),
    often('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
  ),
  bytea: fc
    .oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.string({ unit: 'binary', maxLength: 40 }).map((given) => Buffer.from(given)),
      often(
        '',
        '\\',
        '\\x',
        '\\\\x41',
        '\\101',
        '{"a": "\\"b\\n\\u00fc"}',
        '\u{feff}mark',
        'a\0b',
        '\u{10ffff}',
      ).map((given) => Buffer.from(given)),
      // Almost text: unpaired surrogates, overlong encodings, code points beyond the last one, and truncated sequences.
      often(
        'eda080',
        'edbfbf',
        'c080',
        'c1bf',
        'e08080',
        'f0808080',
        'f4908080',
        'f5808080',
        '41c3',
        'ff',
      ).map((given) => Buffer.from(given, 'hex')),
    )
    .map((bytes) => `\\x${bytes.toString('hex')}`),
  jsonb: fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify(value)),
    often(
      'null',
      '""',
      '{}',
      '[1.50, 1e400, -0, 1e-400, 12345678901234567890]',
      '{"": {"\\u00fc": []}}',
    ),
    often(`${'['.repeat(500)}${']'.repeat(500)}`, '"\\ud83d\\ude00 \\u0001 \\" \\\\ \\n"'),
  ),
  'timestamp with time zone': fc.oneof(
    instants,
    often('infinity', '-infinity', '1969-12-31 23:59:59.999999Z', '2026-01-01 00:00:00.1Z'),
    often('294246-12-31 23:59:59.999999Z', '0001-01-01 00:00:00Z', '2026-03-29 02:30:00+01'),
  ),
  date: fc.oneof(
    instants.map((instant) => instant.slice(0, 10)),
    often('infinity', '-infinity', '0001-01-01', '10000-01-01'),
  ),
  // No column has these types; a type without a Parquet equivalent is stored as text.
  numeric: often('NaN', '1.500', '-0', '1e-30', '123456789012345678901234567890.5'),
  'double precision': often('-0', 'NaN', 'Infinity', '0.1', '1e300', '5e-324'),
  'text[]': often('{}', '{NULL,"NULL",""," a,b","\\"","\\\\"}', '{{1,2},{3,4}}'),
  interval: often('1 day', '-00:00:00.000001', '1 year 2 mons'),
}

const columns: readonly FiledColumn[] = Object.keys(hostile).map((type) => ({
  name: `a "${type}"`,
  type,
}))
const rows = fc.array(
  fc.tuple(...Object.values(hostile).map((values) => fc.option(values, { freq: 6 }))),
  { minLength: 1, maxLength: 40 },
)

/** A table as copied out by the server, before and after a round trip through a file. */
async function through(table: string, told: readonly FiledColumn[], path: string) {
  const spool = engine.spool()
  const copied: Buffer[] = []
  const cells = told.map(({ name, type: typeName }) => copiedColumn({ name, typeName }))
  const text = `copy (select ${cells.join(', ')} from ${table} t order by nth) to stdout (format csv, force_quote *)`
  for await (const batch of copyOut(client, text)) {
    copied.push(Buffer.from(batch.bytes))
    spool.add(batch)
  }
  await engine.write(spool, told, path)
  spool.close()
  const back: Buffer[] = []
  for await (const bytes of engine.rows(path, told, 'quoted')) back.push(Buffer.from(bytes))
  return { copied: Buffer.concat(copied), back: Buffer.concat(back), rows: spool.rows }
}

describe('rows copied out by the server', () => {
  const numbered = [{ name: 'nth', type: 'integer' }, ...columns]
  const names = columns.map(({ name }) => `"${name.replaceAll('"', '""')}"`)
  const shape = columns.map(({ type }, at) => `${names[at]} ${type}`).join(', ')

  test('are restored from a file byte for byte, and in a table value for value, whatever the values', async () => {
    await client.query(`create temp table given (nth integer, ${shape})`)
    await client.query('create temp table taken (like given)')
    const path = join(folder, 'values.parquet')
    await fc.assert(
      fc.asyncProperty(rows, async (drawn) => {
        await client.query('truncate given; truncate taken')
        await client.query(
          `insert into given
          select nth, ${columns.map(({ type }, at) => `c${at}::${type}`).join(', ')}
          from unnest(${columns.map((_, at) => `$${at + 1}::text[]`).join(', ')}) with ordinality
            as told (${columns.map((_, at) => `c${at}`).join(', ')}, nth)`,
          columns.map((_, at) => drawn.map((row) => row[at] ?? null)),
        )
        const { copied, back } = await through('given', numbered, path)
        expect(back.toString()).toBe(copied.toString())
        const entry = { table: 'taken', columns: numbered }
        for (const way of ['quoted', 'plain'] as const) {
          await client.query('truncate taken')
          expect(await enterRows(client, entry, engine.rows(path, numbered, way))).toBe(
            drawn.length,
          )
          const { rows: differing } = await client.query(
            `select given::text, taken::text from given full join taken using (nth)
            where given::text is distinct from taken::text`,
          )
          expect(differing).toEqual([])
        }
      }),
      { numRuns: 60 },
    )
  })

  test('have tested types in every column of every table', async () => {
    const used = new Set<string>()
    for (const table of archivedTables) {
      for (const column of await readColumns(client, table)) used.add(column.typeName)
    }
    expect([...used].filter((type) => !(type in hostile))).toEqual([])
  })

  test('may be as long as the longest stored body, and may fill several row groups', async () => {
    await client.query(`
      create temp table long as
      select 1 as nth, decode(string_agg(md5(n::text), ''), 'hex') as body
      from generate_series(1, ${2 ** 20}) as n
      union all select 2, '\\x'
      union all select 2 + n, decode(md5(n::text), 'hex') from generate_series(1, 5000) as n`)
    const told = [
      { name: 'nth', type: 'integer' },
      { name: 'body', type: 'bytea' },
    ]
    const { copied, back, rows: many } = await through('long', told, join(folder, 'long.parquet'))
    expect(many).toBe(5002)
    expect(copied.length).toBeGreaterThan(2 ** 25)
    expect(back.equals(copied)).toBe(true)
  })
})
