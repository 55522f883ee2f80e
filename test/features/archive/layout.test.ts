// @module-tag slow
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { installationId } from '../../../src/core/queue/open-slices.ts'
import { checkArchive } from '../../../src/features/archive/day.ts'
import { type ArchivedDay, readArchivedDays } from '../../../src/features/archive/days.ts'
import { manifestPath, sha256Of } from '../../../src/features/archive/files.ts'
import { makePast, moveAll, readTables, returnAll } from '../../support/archive.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'

let database: FreshDatabase
let folder: string
beforeEach(async () => {
  database = await freshDatabase()
  folder = join(temporaryFolder('layout'), 'kept')
})
afterEach(() => database.close())

/** Replaces a manifest, with its hash in the database. */
async function note(day: ArchivedDay, text: string): Promise<void> {
  writeFileSync(join(folder, manifestPath(day)), text)
  await database.pool.query(
    'update archived_days set manifest_sha256 = $1 where run_date = $2::date and part = $3',
    [sha256Of(text), day.run_date, day.part],
  )
}

test('an archive is checked and restored row for row, and a different sum is reported', async () => {
  await makePast(database, 'layout', 3)
  await database.pool.query(
    `update organic_results set title = (select string_agg(chr(n), '') from generate_series(1, 300) as n)
    where ordinal = 1`,
  )
  const before = await readTables(database.pool)
  await moveAll(database, { folder })
  const installation = await installationId(database.db)
  const check = async () => {
    const now = await readArchivedDays(database.db)
    return (await checkArchive(now, { folder, installation, report: () => undefined })).problems
  }
  expect(await check()).toEqual([])
  for (const first of (await readArchivedDays(database.db)).slice(0, 1)) {
    const whole = readFileSync(join(folder, manifestPath(first)), 'utf8')
    await note(first, whole.replace(/(?<="sum": ?")[0-9a-f]{4}/, '0000'))
    expect(await check()).toEqual([expect.stringContaining('to be unchanged (sum 0000')])
    await note(first, whole)
  }
  await returnAll(database)
  expect(await readTables(database.pool)).toEqual(before)
})

test('a value that a file cannot store is reported, and nothing is archived', async () => {
  await makePast(database, 'odd', 2)
  await database.pool.query(
    "update raw_answers set received_at = '0044-03-15 BC' where call_id = (select min(call_id) from raw_answers)",
  )
  const before = await readTables(database.pool)
  await expect(moveAll(database, { folder })).rejects.toThrow(
    /^the files of raw_answers do not contain the written data .* nothing was removed/,
  )
  expect(await readTables(database.pool)).toEqual(before)
})
