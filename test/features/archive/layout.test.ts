// @module-tag slow
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PoolClient } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askOnce } from '../../../src/base/database/fetch.ts'
import { installationId } from '../../../src/core/queue/open-slices.ts'
import { ParquetDraft } from '../../../src/features/analysis/parquet.ts'
import { checkArchive } from '../../../src/features/archive/back.ts'
import { copyOut, stageRows } from '../../../src/features/archive/copy.ts'
import { type ArchivedDay, readArchivedDays } from '../../../src/features/archive/days.ts'
import { withEngine } from '../../../src/features/archive/engine.ts'
import {
  archiveVersion,
  manifestPath,
  type ManifestTable,
  readFiled,
  readManifest,
  sha256Of,
} from '../../../src/features/archive/files.ts'
import { makePast, moveAll, placesOf, readTables, returnAll } from '../../support/archive.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'

let database: FreshDatabase
let folder: string
beforeEach(async () => {
  database = await freshDatabase()
  folder = join(temporaryFolder('layout'), 'kept')
})
afterEach(() => database.close())

/** Writes the files of a table, whose rows are staged, anew as the first layout had them, and sums them up as it did. */
async function asBefore(client: PoolClient, table: ManifestTable): Promise<ManifestTable> {
  const from = `from staged_${table.table} order by ${table.key.join(', ')}`
  const { columns, rows } = await askOnce(client, `select * ${from}`)
  const draft = new ParquetDraft(columns)
  draft.add(rows)
  const bytes = Buffer.concat([...(rows.length > 0 ? [draft.takeGroup()] : []), draft.takeEnd()])
  const sum = createHash('sha256').update(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const files = table.files.map(({ path }) => {
    writeFileSync(join(folder, path), bytes)
    return { path, rows: rows.length, bytes: bytes.length, sha256: sha256Of(bytes) }
  })
  return { ...table, sum: sum.digest('hex'), files }
}

/** Sums the staged rows of a table up as the second layout did: as the server copies them out, bytes as hex. */
async function asSecond(client: PoolClient, table: ManifestTable): Promise<ManifestTable> {
  const sum = createHash('sha256')
  const rows = `select * from staged_${table.table} order by ${table.key.join(', ')}`
  for await (const { bytes } of copyOut(
    client,
    `copy (${rows}) to stdout (format csv, force_quote *)`,
  )) {
    sum.update(bytes)
  }
  return { ...table, sum: sum.digest('hex') }
}

const layouts = { 1: asBefore, 2: asSecond }

/** Turns the whole archive into one of an older layout. */
async function rewrite(client: PoolClient, installation: string, version: 1 | 2): Promise<void> {
  const place = placesOf()(folder)
  await withEngine(async (engine) => {
    for (const day of await readArchivedDays(database.db)) {
      const manifest = await readManifest(day, { place, installation })
      const tables: ManifestTable[] = []
      for (const table of manifest.tables) {
        await client.query('begin')
        await stageRows(client, table, readFiled({ engine, place, version: archiveVersion }, table))
        tables.push(await layouts[version](client, table))
        await client.query('commit')
      }
      await note(day, JSON.stringify({ ...manifest, version, tables }))
    }
  })
}

/** Puts another manifest in the place of one, with the database's word for it. */
async function note(day: ArchivedDay, text: string): Promise<void> {
  writeFileSync(join(folder, manifestPath(day)), text)
  await database.pool.query(
    'update archived_days set manifest_sha256 = $1 where run_date = $2::date and part = $3',
    [sha256Of(text), day.run_date, day.part],
  )
}

test.each([1, 2] as const)(
  'an archive of layout %i is checked and brought back row for row; a sum that differs is told',
  async (version) => {
    await makePast(database, 'layout', 3)
    await database.pool.query(
      `update organic_results set title = (select string_agg(chr(n), '') from generate_series(1, 300) as n)
    where ordinal = 1`,
    )
    const before = await readTables(database.pool)
    await moveAll(database, { folder })
    const installation = await installationId(database.db)
    const client = await database.pool.connect()
    try {
      await client.query("set timezone = 'UTC'")
      await rewrite(client, installation, version)
    } finally {
      client.release(true)
    }
    const days = await readArchivedDays(database.db)
    const check = async () => {
      const now = await readArchivedDays(database.db)
      return (
        await checkArchive(now, {
          folder,
          places: placesOf(),
          installation,
          tell: () => undefined,
        })
      ).problems
    }
    expect(await check()).toEqual([])
    for (const first of days.slice(0, 1)) {
      const whole = readFileSync(join(folder, manifestPath(first)), 'utf8')
      await note(first, whole.replace(/"sum":"[0-9a-f]{4}/, '"sum":"0000'))
      expect(await check()).toEqual([expect.stringContaining('as it was written (sum 0000')])
      await note(first, whole)
    }
    await returnAll(database)
    expect(await readTables(database.pool)).toEqual(before)
  },
)

test('a value that a file cannot hold is told, and nothing leaves', async () => {
  await makePast(database, 'odd', 2)
  await database.pool.query(
    "update raw_answers set received_at = '0044-03-15 BC' where call_id = (select min(call_id) from raw_answers)",
  )
  const before = await readTables(database.pool)
  await expect(moveAll(database, { folder })).rejects.toThrow(
    /^expected to read out of the files of raw_answers what was written .* nothing was removed/,
  )
  expect(await readTables(database.pool)).toEqual(before)
})
