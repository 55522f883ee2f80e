import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readParquet } from '../../../../src/commands/mill/parquet/read.ts'
import { writeParquet } from '../../../../src/commands/mill/parquet/write.ts'
import { askOnce } from '../../../../src/store/analysis/fetch.ts'
import { freshDatabase, type FreshDatabase } from '../../../support/database.ts'
import { temporaryFolder } from '../../../support/place.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

test('a file gives each value back as the text that the server wrote, at the ends of what its type holds', async () => {
  const text = `
    values
      (1::bigint, 'a'::text, '{"n": 12345678901234567890, "a": 1.50}'::jsonb, timestamptz '2026-02-28 23:59:59.123456+00', '\\x00ff'::bytea, true, 7::smallint, date '1969-12-31', '00000000-0000-4000-8000-0123456789ab'::uuid),
      (-9223372036854775808, U&'\\FEFFmark', '"\\u00fc\\n"', '1969-12-31 23:59:59.9+00', '', false, -32768, '0099-01-01', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
      (9223372036854775807, '', 'null', '2026-01-01 00:00:00+00', repeat('x', 3000)::bytea, null, null, null, null),
      (null, null, null, null, null, null, null, null, null)`
  const client = await database.pool.connect()
  await client.query("set timezone = 'UTC'")
  const asked = await askOnce(client, text)
  client.release(true)
  async function* once() {
    yield asked
  }
  const pieces: Uint8Array[] = []
  for await (const piece of writeParquet(once())) pieces.push(piece)
  const path = join(temporaryFolder('read'), 'values.parquet')
  writeFileSync(path, Buffer.concat(pieces))
  const read: unknown[] = []
  for await (const rows of readParquet(path)) read.push(...rows)
  expect(read).toHaveLength(4)
  expect(read).toEqual(asked.rows)
})
