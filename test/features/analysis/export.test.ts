import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureReader } from '../../../src/base/database/reader-role.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'
import { dropReader, Story } from './story.ts'

let database: FreshDatabase
const home = temporaryFolder('export')
beforeAll(async () => {
  database = await freshDatabase()
  await ensureReader(database.pool)
  await new Story(database.pool).night('2026-01-01', { shoes: ['a.com/', 'b.com/'] })
  // Every kind of value, in more rows than one batch, from a server with another time zone.
  const name = new URL(database.url).pathname.slice(1)
  await database.pool.query(`alter database ${name} set timezone = 'Asia/Kolkata'`)
  await database.pool.query(`
    create view analysis.odd as
    select
      case n when 2 then 9223372036854775807 else n end::bigint as id,
      'a "text"' || chr(10) || 'of two' as line,
      timestamptz '2026-01-01 00:00:00.123456+00' as at,
      date '2026-01-01' as "Day of it",
      0.10::numeric as price, 'NaN'::float8 as rate, true as ok,
      '{"b": 1, "a": 12345678901234567890}'::jsonb as doc,
      array[9223372036854775807, null] as ids,
      null::text as nothing
    from generate_series(1, 4500) as n`)
})
afterAll(async () => {
  await dropReader(database.pool)
  await database.close()
})

async function lines(relation: string): Promise<string[]> {
  const { code, stderr } = await run(
    'export',
    [relation, '--format', 'ndjson', '--to', 'rows.ndjson'],
    { DATABASE_URL: database.url, MILL_HOME: home, INIT_CWD: home },
  )
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^wrote [\d,]+ rows of \S+ to \S+ as ndjson\n$/),
  ])
  return readFileSync(join(home, 'rows.ndjson'), 'utf8').split('\n')
}

test('a line of JSON keeps every digit, and a column has one type whatever its values are', async () => {
  const written = await lines('odd')
  const line = (id: string) =>
    `{"id":${id},"line":"a \\"text\\"\\nof two","at":"2026-01-01T05:30:00.123456+05:30",` +
    '"Day of it":"2026-01-01","price":0.10,"rate":"NaN","ok":true,' +
    '"doc":{"a": 12345678901234567890, "b": 1},"ids":[9223372036854775807,null],"nothing":null}'
  expect(written.slice(0, 2)).toEqual([line('1'), line('9223372036854775807')])
  expect(written.at(-1)).toBe('')
  expect(written).toHaveLength(4501)
  expect(new Set(written.slice(2, -1).map((one) => one.replace(/^{"id":\d+/, ''))).size).toBe(1)
})

test('names and order of columns are those of the relation, even without rows', async () => {
  const [first = ''] = await lines('results')
  const { fields } = await database.pool.query('select * from analysis.results limit 0')
  expect(Object.keys(JSON.parse(first) as object)).toEqual(fields.map(({ name }) => name))
  expect(await lines('rejected_lines')).toEqual([''])
})
