// Restores days from an archive, and checks its files.

import { npmRun } from '../../base/cli/commands.ts'
import { basename, join } from 'node:path'
import { dictionaryTables } from '../../base/database/facts.ts'
import { MillError, Misuse, WrongDatabase } from '../../base/errors.ts'
import { crossOut, enterRows, enterStaged, stageRows, unmarkAnswers } from './copy.ts'
import { type ArchivedDay, type Archivist, inArchiving, readColumns } from './days.ts'
import { type ParquetEngine, withEngine } from './engine.ts'
import { ArchiveFolder } from './folder.ts'
import {
  type FiledPlace,
  holdFiled,
  type Manifest,
  manifestPath,
  type ManifestTable,
  readFiled,
  readManifest,
} from './files.ts'

/** Folder and tools for restoring a day. */
interface Return extends FiledPlace {
  readonly client: Archivist
  readonly installation: string
}

/** Restores a day atomically; returns the number of rows, and the files that are no longer needed. */
export async function bringBack(
  { client, installation, ...filed }: Return,
  day: ArchivedDay,
): Promise<{ readonly rows: number; readonly files: readonly string[] }> {
  const manifest = await readManifest(day, { folder: filed.folder, installation })
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

interface CheckOptions {
  /** Current folder of the archive; if undefined, the folder in which each day was written. */
  readonly folder: string | undefined
  readonly installation: string
  readonly report: (line: string) => void
}

/** Reads every manifest and file, and compares them with the recorded values; changes nothing. */
export async function checkArchive(days: readonly ArchivedDay[], options: CheckOptions) {
  const checked = await withEngine((engine) => checkDays(engine, days, options))
  const folders = new Set(days.map((day) => options.folder ?? day.folder))
  if (options.folder !== undefined) folders.add(options.folder)
  // Manifests unknown to the database.
  const known = new Set(days.map((day) => basename(manifestPath(day))))
  const unknown: string[] = []
  for (const folder of [...folders].map((path) => new ArchiveFolder(path))) {
    const names = (await folder.list('days')).filter((name) => name.endsWith('.json'))
    const others = names.filter((name) => !known.has(name))
    unknown.push(...others.map((name) => folder.where(`days/${name}`)))
  }
  return { days: days.length, ...checked, unknown }
}

async function checkDays(
  engine: ParquetEngine,
  days: readonly ArchivedDay[],
  { folder: moved, installation, report }: CheckOptions,
) {
  const problems: string[] = []
  let files = 0
  let rows = 0
  for (const day of days) {
    const folder = new ArchiveFolder(moved ?? day.folder)
    try {
      const { tables } = await readManifest(day, { folder, installation })
      for (const table of tables) await holdFiled({ engine, folder }, table)
      files += tables.flatMap((table) => table.files).length
      rows += tables.reduce((sum, table) => sum + table.rows, 0)
    } catch (error) {
      if (!(error instanceof MillError)) throw error
      const problem = `${day.run_date}: ${error.message}`
      problems.push(problem)
      report(problem)
    }
  }
  return { files, rows, problems }
}
