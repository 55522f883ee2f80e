// Restores days from an archive, and checks its files.

import { npmRun } from '../../base/cli/commands.ts'
import { basename, join } from 'node:path'
import { dictionaryTables } from '../../base/database/facts.ts'
import { MillError, Misuse, Unreachable, WrongDatabase } from '../../base/errors.ts'
import { crossOut, enterRows, enterStaged, stageRows, unmarkAnswers } from './copy.ts'
import { type ArchivedDay, type Archivist, inArchiving, readColumns } from './days.ts'
import { type ParquetEngine, withEngine } from './engine.ts'
import {
  type FiledPlace,
  holdFiled,
  type Manifest,
  manifestPath,
  type ManifestTable,
  readFiled,
  readManifest,
} from './files.ts'
import type { ArchivePlace } from './place.ts'

/** Location and tools for restoring a day. */
interface Return {
  readonly client: Archivist
  readonly engine: ParquetEngine
  readonly place: ArchivePlace
  readonly installation: string
}

/** Restores a day atomically; returns the number of rows, and the files that are no longer needed. */
export async function bringBack(
  { client, engine, place, installation }: Return,
  day: ArchivedDay,
): Promise<{ readonly rows: number; readonly files: readonly string[] }> {
  const manifest = await readManifest(day, { place, installation })
  const filed = { engine, place }
  const rows = await inArchiving(client, () => enterDay(client, { filed, manifest, day }))
  const files = manifest.tables.flatMap((table) => table.files.map(({ path }) => path))
  return { rows, files: [manifestPath(day), ...files] }
}

async function enterDay(
  client: Archivist,
  {
    filed,
    manifest,
    day,
  }: { readonly filed: FiledPlace; readonly manifest: Manifest; readonly day: ArchivedDay },
): Promise<number> {
  for (const name of dictionaryTables) {
    const table = tableOf(manifest, name)
    const columns = await heldColumns(client, table)
    await stageRows(client, table, readFiled(filed, table))
    await enterStaged(client, { table: name, columns })
  }
  let rows = 0
  for (const table of manifest.tables.filter(({ kind }) => kind === 'moved')) {
    await heldColumns(client, table)
    const entry = { table: `public.${table.table}`, columns: table.columns }
    rows += await enterRows(client, entry, readFiled(filed, table))
  }
  const searches = tableOf(manifest, 'searches')
  await stageRows(client, searches, readFiled(filed, searches))
  const back = await unmarkAnswers(client)
  if (back !== day.answers || rows !== day.moved_rows) {
    throw new WrongDatabase(
      `expected ${day.answers} answers with ${day.moved_rows} rows of ${day.run_date} to come back, got ${back} with ${rows}; nothing was changed: ${npmRun('verify')} says more`,
    )
  }
  if (!(await crossOut(client, day))) {
    throw new WrongDatabase(
      `expected ${day.run_date} to be in the archive, got no record of it; nothing was changed`,
    )
  }
  return rows
}

/** Checks that the table has not changed since the day was archived; returns its columns that are not generated. */
async function heldColumns(client: Archivist, { table, columns }: ManifestTable) {
  const there = await readColumns(client, { name: table })
  return columns.filter(({ name, type }) => {
    const now = there.find((column) => column.name === name)
    if (now?.typeName !== type) {
      throw new WrongDatabase(
        `expected ${table} to have a column ${name} of type ${type} as when the day was archived, got ${now?.typeName ?? 'none'}; nothing was changed`,
      )
    }
    return !now.generated
  })
}

function tableOf(manifest: Manifest, name: string): ManifestTable {
  const table = manifest.tables.find((each) => each.table === name)
  if (table === undefined) {
    throw new Misuse(
      `expected ${name} in ${join('days', `${manifest.run_date}.${manifest.part}.json`)}, got a manifest without it; put back the file as it was written`,
    )
  }
  return table
}

/** Result of checking an archive. */
interface CheckedArchive {
  readonly days: number
  readonly files: number
  readonly rows: number
  readonly problems: readonly string[]
  /** Manifests unknown to the database. */
  readonly unknown: readonly string[]
}

interface CheckOptions {
  /** Current location of the archive; undefined: where each day was written. */
  readonly folder: string | undefined
  readonly places: (address: string) => ArchivePlace
  readonly installation: string
  readonly report: (line: string) => void
}

/** Reads every manifest and file, and compares them with the recorded values; changes nothing. */
export async function checkArchive(
  days: readonly ArchivedDay[],
  options: CheckOptions,
): Promise<CheckedArchive> {
  const checked = await withEngine((engine) => checkDays(engine, days, options))
  const folders = new Set(days.map((day) => options.folder ?? day.folder))
  if (options.folder !== undefined) folders.add(options.folder)
  const unknown: string[] = []
  for (const folder of folders) unknown.push(...(await unknownIn(options.places(folder), days)))
  return { days: days.length, ...checked, unknown }
}

async function checkDays(
  engine: ParquetEngine,
  days: readonly ArchivedDay[],
  options: CheckOptions,
) {
  const problems: string[] = []
  let files = 0
  let rows = 0
  for (const day of days) {
    try {
      const read = await checkDay(engine, day, options)
      files += read.files
      rows += read.rows
    } catch (error) {
      // If a bucket is unreachable, nothing is known about its contents.
      if (!(error instanceof MillError) || error instanceof Unreachable) throw error
      problems.push(`${day.run_date}: ${error.message}`)
      options.report(problems.at(-1) ?? '')
    }
  }
  return { files, rows, problems }
}

async function checkDay(
  engine: ParquetEngine,
  day: ArchivedDay,
  { folder = day.folder, places, installation }: CheckOptions,
) {
  const place = places(folder)
  const manifest = await readManifest(day, { place, installation })
  const filed = { engine, place }
  for (const table of manifest.tables) await holdFiled(filed, table)
  return {
    files: manifest.tables.flatMap((table) => table.files).length,
    rows: manifest.tables.reduce((sum, table) => sum + table.rows, 0),
  }
}

async function unknownIn(
  place: ArchivePlace,
  days: readonly ArchivedDay[],
): Promise<readonly string[]> {
  const known = new Set(days.map((day) => basename(manifestPath(day))))
  const names = await place.list('days')
  return names
    .filter((name) => name.endsWith('.json') && !known.has(name))
    .map((name) => place.where(`days/${name}`))
}
