// @module-tag slow
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureReader } from '../../../src/base/database/reader-role.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'
import { dropReader } from './story.ts'

let database: FreshDatabase
const home = temporaryFolder('formats')
beforeAll(async () => {
  database = await freshDatabase()
  await ensureReader(database.pool)
})
afterAll(async () => {
  await dropReader(database.pool)
  await database.close()
})

const call = (command: string, ...args: string[]) =>
  run(command, args, { DATABASE_URL: database.url, MILL_HOME: home, INIT_CWD: home })
const numbers = (...args: string[]) =>
  call('export', '--question', 'select n from generate_series(1, 12345) as n', ...args)
const read = (name: string) => readFileSync(join(home, name), 'utf8')

/** The first bytes of a file in this format, and the number of rows according to its lines. */
function contentOf(name: string): readonly [string, number | null] {
  const text = read(name)
  if (text.startsWith('PAR1') && text.endsWith('PAR1')) return ['parquet', null]
  if (text.startsWith('PK')) return ['xlsx', null]
  const lines = text.trimEnd().split('\n')
  return lines[0] === 'n' ? ['csv', lines.length - 1] : ['ndjson', lines.length]
}

describe('a file that is exported', () => {
  test.each([
    ['r.csv', 'csv', 12_345],
    ['R.CSV', 'csv', 12_345],
    ['r.ndjson', 'ndjson', 12_345],
    ['r.jsonl', 'ndjson', 12_345],
    ['r.json', 'ndjson', 12_345],
    ['r.parquet', 'parquet', null],
    ['r.xlsx', 'xlsx', null],
    ['r.rows', 'csv', 12_345],
  ])(
    'called %s contains what its name promises, %s, and its rows are counted',
    async (...given) => {
      const [name, format, lines] = given
      expect(await numbers('--to', name)).toMatchObject({
        code: 0,
        stdout: '',
        stderr: `wrote 12,345 rows of the answer to ${join(home, name)} as ${format}\n`,
      })
      expect(contentOf(name)).toEqual([format, lines])
    },
  )

  test.each([
    ['old.parquet', 'csv', 'parquet'],
    ['old.csv', 'parquet', 'csv'],
    ['old.json', 'csv', 'ndjson'],
    ['old.xlsx', 'csv', 'xlsx'],
    ['old.csv', 'xlsx', 'csv'],
  ])('%s is not written as %s', async (name, typed, promised) => {
    writeFileSync(join(home, name), 'what was there')
    const { code, stderr } = await numbers('--format', typed, '--to', name)
    expect([code, stderr]).toEqual([
      2,
      `error: expected --format ${promised} for ${name}, got ${typed}; leave --format out, or choose another file\n`,
    ])
    expect(read(name)).toBe('what was there')
  })

  test.each([['old.ods'], ['old.csv.gz']])(
    '%s is refused, because this format is not supported',
    async (name) => {
      writeFileSync(join(home, name), 'what was there')
      const { code, stderr } = await numbers('--to', name)
      expect(code).toBe(2)
      expect(stderr).toMatch(/^error: expected --to with a \.csv, .*; choose another/)
      expect(read(name)).toBe('what was there')
    },
  )

  test('through a link has the format of its target’s name', async () => {
    symlinkSync('end.parquet', join(home, 'link'))
    expect((await numbers('--to', 'link')).stderr).toMatch(/link as parquet\n$/)
    expect(contentOf('end.parquet')).toEqual(['parquet', null])
  })

  test('leaves the previous one intact if the database fails halfway', async () => {
    const before = await numbers('--to', 'kept.csv')
    expect(before.code).toBe(0)
    const whole = read('kept.csv')
    const half = 'select 1 / (9000 - n) as n from generate_series(1, 12345) as n'
    const { code, stderr } = await call('export', '--question', half, '--to', 'kept.csv')
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/division by zero/)
    expect(stderr).not.toMatch(/wrote/)
    expect(read('kept.csv')).toBe(whole)
    expect(readdirSync(home).filter((name) => name.endsWith('.part'))).toEqual([])
  })
})

test('reports what was written to a program as one object, and a delimiter may be chosen', async () => {
  const two = [
    'export',
    '--question',
    'select 1 as n, 2.5 as m',
    '--delimiter',
    'semicolon',
  ] as const
  const { code, stdout } = await call(...two, '--to', 'two.csv', '--json')
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    { name: 'the answer', rows: 1, format: 'csv', file: join(home, 'two.csv') },
  ])
  expect(read('two.csv')).toBe('n;m\n1;2.5\n')
  for (const flags of [
    ['--to', '-', '--json'],
    ['--to', 'two.parquet'],
    ['--to', 'two.csv', '--delimiter', '!'],
  ]) {
    expect((await call(...two, ...flags)).code).toBe(2)
  }
  expect(read('two.csv')).toBe('n;m\n1;2.5\n')
})

test('has one row for one row, also on standard output', async () => {
  const { stdout, stderr } = await call('export', '--question', 'select 1 as n', '--to', '-')
  expect([stdout, stderr]).toEqual(['n\n1\n', 'wrote 1 row of the answer as csv\n'])
})

test('a report is not written over a file whose name has another format', async () => {
  writeFileSync(join(home, 'figures.parquet'), 'what was there')
  const { code, stderr } = await call('report', '--to', 'figures.parquet')
  expect([code, stderr]).toEqual([
    2,
    'error: expected --to with an HTML file, got figures.parquet; choose a name that ends in .html\n',
  ])
  expect(read('figures.parquet')).toBe('what was there')
})
