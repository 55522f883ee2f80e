// Moves a day to files, restores a day from files, and checks the files.

import { createHash } from 'node:crypto'
import { basename, dirname } from 'node:path'
import type { PoolClient } from 'pg'
import { npmRun } from '../../base/cli/commands.ts'
import { dictionaryTables } from '../../base/database/facts.ts'
import { MillError, Misuse, reasonOf, WrongDatabase } from '../../base/errors.ts'
import { copyOut, enterRows, enterStaged, type FiledColumn, stageRows } from './copy.ts'
import {
  type Archived,
  type ArchivedDay,
  type ArchivedTable,
  archivedTables,
  changedMeanwhile,
  gatherLeaving,
  gatherPlaces,
  inArchiving,
  leavingRows,
  leftOut,
  readColumns,
  removeLeft,
} from './days.ts'
import { type Spool, withEngine } from './engine.ts'
import {
  type ArchivedFile,
  archiveVersion,
  type DayPart,
  type FiledPlace,
  filePath,
  hashFile,
  holdFiled,
  type Manifest,
  manifestPath,
  type ManifestTable,
  parseManifest,
  readFiled,
  readManifest,
  sha256Of,
} from './files.ts'
import { ArchiveFolder } from './folder.ts'

interface ArchiveTools extends FiledPlace {
  readonly client: PoolClient
  readonly installation: string
}

interface Passage extends ArchiveTools {
  /** Called after each step. Tests use this function to interrupt archiving. */
  readonly step?: (name: ArchiveStep) => Promise<void> | void
}

/** Steps for archiving a day, in order. Between the last two steps, one transaction removes the day's rows. */
export const archiveSteps = [
  'written',
  'verified',
  'published',
  'promised',
  'removed',
  'committed',
] as const
export type ArchiveStep = (typeof archiveSteps)[number]

// Maximum size of a file's uncompressed text. The text is kept in a temporary folder until it is compressed.
const mostText = 8_000_000
const tries = 3

/** Moves a day to the archive; returns null if none of the day's rows were left in the tables. */
export async function archiveDay(passage: Passage, day: string): Promise<Archived | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      const archived = await inArchiving(passage.client, () => moveDay(passage, day))
      await passage.step?.('committed')
      return archived
    } catch (error) {
      await passage.folder.abandon()
      // A nightly run, a reparse or a prune changed the day, so the day is archived again with its current rows.
      if (!changedMeanwhile(error) || attempt === tries) throw error
    }
  }
}

/** Archives a day. All steps that can fail come before the first row is deleted. */
async function moveDay(passage: Passage, day: string): Promise<Archived | null> {
  const { client, folder, step } = passage
  const leaving = await gatherLeaving(client, day)
  if (leaving.part > 1 && leaving.answers + leaving.bodies === 0) return null
  await gatherPlaces(client)
  const of = { run_date: day, part: leaving.part }
  const tables: ManifestTable[] = []
  for (const table of archivedTables) tables.push(await writeTable(passage, table, of))
  await step?.('written')
  await readBack(passage, tables)
  await step?.('verified')
  await clearWay(passage, of, tables)
  await folder.publish()
  await step?.('published')
  const manifest: Manifest = {
    archive: 'querymill',
    version: archiveVersion,
    installation: passage.installation,
    ...of,
    answers: leaving.answers,
    tables,
    left_out: leftOut,
  }
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  await folder.write(manifestPath(of), text)
  await folder.publish()
  await step?.('promised')
  const bytes = tables.flatMap(({ files }) => files).reduce((sum, file) => sum + file.bytes, 0)
  const left = { ...of, folder: folder.path, bytes, manifest_sha256: sha256Of(text) }
  const rows = await removeLeft(client, left, tables)
  await step?.('removed')
  return { ...of, answers: leaving.answers, rows, bytes }
}

async function writeTable(passage: Passage, table: ArchivedTable, of: DayPart) {
  const { client, engine } = passage
  const columns = await readColumns(client, table)
  const filed = columns.map(({ name, typeName: type }) => ({ name, type }))
  const sum = createHash('sha256')
  const files: ArchivedFile[] = []
  let spool: Spool | null = null
  const flush = async () => {
    if (spool === null) return
    const path = filePath(table.name, of, files.length + 1)
    files.push(await writeFile(passage, { path, text: spool, columns: filed }))
    spool.close()
    spool = null
  }
  try {
    for await (const rows of copyOut(client, leavingRows(table, columns))) {
      sum.update(rows.bytes)
      spool ??= engine.spool()
      spool.add(rows)
      if (spool.bytes >= mostText) await flush()
    }
    await flush()
  } finally {
    spool?.close()
  }
  const { name, kind, key } = table
  const rows = files.reduce((total, file) => total + file.rows, 0)
  return { table: name, kind, rows, sum: sum.digest('hex'), key, columns: filed, files }
}

/** Reads all files back from disk, and compares them with the rows that were read from the database. */
async function readBack(passage: Passage, tables: readonly ManifestTable[]) {
  const { folder } = passage
  for (const table of tables) {
    const files = table.files.map((file) => ({ ...file, path: folder.draftName(file.path) }))
    try {
      await holdFiled(passage, { ...table, files })
    } catch (cause) {
      throw new Misuse(
        `the files of ${table.table} do not contain the written data (${reasonOf(cause)}); the disk may be failing, or Parquet cannot store a value, such as a BC timestamp; nothing was removed`,
        { cause },
      )
    }
  }
}

async function writeFile(
  { folder, engine }: FiledPlace,
  { path, text, columns }: { path: string; text: Spool; columns: readonly FiledColumn[] },
): Promise<ArchivedFile> {
  const handle = await folder.draft(path)
  const draft = folder.where(folder.draftName(path))
  try {
    await engine.write(text, columns, draft)
    await handle.sync()
    const { size: bytes } = await handle.stat()
    return { path, rows: text.rows, bytes, sha256: hashFile(draft) }
  } finally {
    await handle.close()
  }
}

/** Deletes files left by an interrupted archive command. Throws if a file holds answers missing from the database. */
async function clearWay(passage: Passage, of: DayPart, tables: readonly ManifestTable[]) {
  const { folder, installation } = passage
  const text = await folder.readText(manifestPath(of))
  if (text !== null) {
    const path = folder.where(manifestPath(of))
    await holdKnown(passage, parseManifest(text, path, installation), path)
    await folder.remove([manifestPath(of)])
  }
  const ours = tables.flatMap(({ files }) => files.map((file) => folder.draftName(file.path)))
  for (const { table } of tables) {
    const lies = dirname(filePath(table, of, 1))
    const old = await folder.list(lies, `${of.part}-`)
    await folder.remove(old.filter((name) => !ours.includes(name)))
  }
  // The manifest is already deleted, so only its drafts remain.
  await folder.remove(await folder.list('days', basename(manifestPath(of))))
}

async function holdKnown(passage: Passage, manifest: Manifest, path: string) {
  const { client } = passage
  const table = manifest.tables.find((each) => each.table === 'searches')
  if (table === undefined) return
  try {
    await stageRows(client, table, readFiled(passage, table))
    const { rows: strange } = await client.query(
      `select from pg_temp.staged_searches
      where id not in (select search_id from pg_temp.leaving)
      limit 1`,
    )
    if (strange.length > 0) throw new Misuse('answers that are not in the tables')
  } catch (cause) {
    throw new Misuse(
      `expected ${path} to be from an interrupted archive command, got ${reasonOf(cause)}; nothing was changed; move the file away, or choose another folder`,
      { cause },
    )
  }
}

/** Restores a day atomically; returns the number of restored rows, and the files that are no longer needed. */
export async function bringBack(tools: ArchiveTools, day: ArchivedDay) {
  const manifest = await readManifest(day, tools)
  const rows = await inArchiving(tools.client, () => enterDay(tools, manifest, day))
  const files = manifest.tables.flatMap((table) => table.files.map(({ path }) => path))
  return { rows, files: [manifestPath(day), ...files] }
}

async function enterDay(tools: ArchiveTools, manifest: Manifest, day: ArchivedDay) {
  const { client } = tools
  for (const name of dictionaryTables) {
    const table = tableOf(manifest, name)
    const columns = await heldColumns(client, table)
    await stageRows(client, table, readFiled(tools, table))
    await enterStaged(client, { table: name, columns })
  }
  let rows = 0
  for (const table of manifest.tables.filter(({ kind }) => kind === 'moved')) {
    await heldColumns(client, table)
    const entry = { table: `public.${table.table}`, columns: table.columns }
    rows += await enterRows(client, entry, readFiled(tools, table))
  }
  const searches = tableOf(manifest, 'searches')
  await stageRows(client, searches, readFiled(tools, searches))
  const { rowCount: back } = await client.query(
    `update public.searches set archived = false
    where archived and id in (select id from pg_temp.staged_searches)`,
  )
  if (back !== day.answers || rows !== day.moved_rows) {
    throw new WrongDatabase(
      `expected ${day.answers} answers with ${day.moved_rows} rows of ${day.run_date} to be restored, got ${back} answers with ${rows} rows; nothing was changed: ${npmRun('verify')} shows details`,
    )
  }
  // Sums that were computed without the day are deleted, so that they are computed again.
  const { rowCount: crossedOut } = await client.query(
    `with back as (
      delete from public.archived_days
      where run_date = $1::date and part = $2
      returning run_date, archived_at
    ),
    stale as (
      delete from public.finished_days
      using back
      where finished_days.run_date >= back.run_date
        and finished_days.begun_at > back.archived_at
    )
    select from back`,
    [day.run_date, day.part],
  )
  if (crossedOut !== 1) {
    throw new WrongDatabase(
      `expected ${day.run_date} to be in the archive, got no record of it; nothing was changed`,
    )
  }
  return rows
}

/** Checks that a table still has the archived columns. Returns the columns that are not generated. */
async function heldColumns(client: PoolClient, { table, columns }: ManifestTable) {
  const there = await readColumns(client, { name: table })
  return columns.filter(({ name, type }) => {
    const now = there.find((column) => column.name === name)
    if (now?.typeName !== type) {
      throw new WrongDatabase(
        `expected ${table} to have a column ${name} of type ${type}, as when the day was archived, got ${now?.typeName ?? 'none'}; nothing was changed`,
      )
    }
    return !now.generated
  })
}

function tableOf(manifest: Manifest, name: string): ManifestTable {
  const table = manifest.tables.find((each) => each.table === name)
  if (table === undefined) {
    throw new Misuse(
      `found no table ${name} in ${manifestPath(manifest)}; restore the original file`,
    )
  }
  return table
}

interface CheckOptions {
  /** Current folder of the archive; if undefined, each day is read from the folder in which it was written. */
  readonly folder: string | undefined
  readonly installation: string
  readonly report: (line: string) => void
}

/** Reads every manifest and file in the archive, and compares both with the recorded values. Changes nothing. */
export function checkArchive(
  days: readonly ArchivedDay[],
  { folder: moved, installation, report }: CheckOptions,
) {
  return withEngine(async (engine) => {
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
    return { days: days.length, files, rows, problems }
  })
}
