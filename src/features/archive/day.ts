// Moves a day to files.

import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { Misuse, reasonOf, Unreachable } from '../../base/errors.ts'
import { areStrange, type CopiedRows, copyOut, type FiledColumn, stageRows } from './copy.ts'
import {
  type ArchivedTable,
  archivedTables,
  type Archivist,
  changedMeanwhile,
  gatherLeaving,
  gatherPlaces,
  inArchiving,
  type Leaving,
  leavingRows,
  leftOut,
  readColumns,
  removeLeft,
} from './days.ts'
import type { ParquetEngine } from './engine.ts'
import {
  type ArchivedFile,
  archiveVersion,
  filePath,
  hashFile,
  holdFiled,
  type Manifest,
  manifestPath,
  type ManifestTable,
  parseManifest,
  readFiled,
  sha256Of,
} from './files.ts'
import type { ArchiveTarget } from './targets.ts'

/** Source and target of a day being archived. */
interface Passage {
  readonly client: Archivist
  readonly folder: ArchiveTarget
  readonly engine: ParquetEngine
  readonly installation: string
  /** Called after each step; tests use it to interrupt there. */
  readonly step?: (name: ArchiveStep) => Promise<void> | void
}

/** Steps of archiving a day, in order; its rows are removed between the last two, in one transaction. */
export const archiveSteps = [
  'written',
  'verified',
  'published',
  'promised',
  'removed',
  'committed',
] as const
export type ArchiveStep = (typeof archiveSteps)[number]

/** Result of archiving a day. */
export interface Archived {
  readonly run_date: string
  readonly part: number
  readonly answers: number
  readonly rows: number
  readonly bytes: number
}

// Limit on the text of a file, which is many times as long as the resulting file and is stored in a temporary folder.
const mostText = 8_000_000
const tries = 3

/** Moves a day to the archive; returns null if nothing of it was left. */
export async function archiveDay(passage: Passage, day: string): Promise<Archived | null> {
  for (let attempt = 1; ; attempt++) {
    try {
      const archived = await inArchiving(passage.client, () => moveDay(passage, day))
      await passage.step?.('committed')
      return archived
    } catch (error) {
      await passage.folder.abandon()
      // A nightly run, a reparse or a prune changed the day, so try again with the current rows.
      if (!changedMeanwhile(error) || attempt === tries) throw error
    }
  }
}

/** Performs all steps that can fail before the first row is deleted. */
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
  await folder.confirm(tables.flatMap(({ files }) => files))
  await step?.('published')
  const manifest = `${JSON.stringify(manifestOf(passage, of, { leaving, tables }), null, 2)}\n`
  const sha256 = sha256Of(manifest)
  await folder.write(manifestPath(of), manifest)
  await folder.publish()
  await folder.confirm([{ path: manifestPath(of), sha256 }])
  await step?.('promised')
  const bytes = tables.flatMap(({ files }) => files).reduce((sum, file) => sum + file.bytes, 0)
  const left = { day, part: of.part, folder: folder.place.address, bytes }
  const gone = await removeLeft(client, { ...left, manifestSha256: sha256 })
  const rows = holdAgainst(tables, gone, day)
  await step?.('removed')
  return { ...of, answers: leaving.answers, rows, bytes }
}

function manifestOf(
  { installation }: Passage,
  of: { readonly run_date: string; readonly part: number },
  { leaving, tables }: { readonly leaving: Leaving; readonly tables: ManifestTable[] },
): Manifest {
  return {
    archive: 'querymill',
    version: archiveVersion,
    installation,
    ...of,
    answers: leaving.answers,
    tables,
    left_out: [...leftOut],
  }
}

async function writeTable(
  { client, folder, engine }: Passage,
  table: ArchivedTable,
  of: { readonly run_date: string; readonly part: number },
): Promise<ManifestTable> {
  const columns = await readColumns(client, table)
  const filed = columns.map(({ name, typeName: type }) => ({ name, type }))
  const sum = createHash('sha256')
  const files: ArchivedFile[] = []
  let piece: Piece | null = null
  try {
    for await (const rows of copyOut(client, leavingRows(table, columns))) {
      sum.update(rows.bytes)
      const name = filePath(table.name, of, files.length + 1)
      piece ??= new Piece({ folder, engine }, name)
      piece.add(rows)
      if (piece.bytes < mostText) continue
      files.push(await piece.end(filed))
      piece = null
    }
    if (piece !== null) files.push(await piece.end(filed))
  } catch (error) {
    piece?.drop()
    throw error
  }
  return {
    table: table.name,
    kind: table.kind,
    rows: files.reduce((total, { rows }) => total + rows, 0),
    sum: sum.digest('hex'),
    key: [...table.key],
    columns: filed,
    files,
  }
}

/** Reads all files back from disk and checks hashes, row counts and sums against what was read from the database. */
async function readBack({ folder, engine }: Passage, tables: readonly ManifestTable[]) {
  const drafts = { engine, place: folder.drafts }
  for (const table of tables) {
    const files = table.files.map((file) => ({ ...file, path: folder.draftName(file.path) }))
    try {
      await holdFiled(drafts, { ...table, files })
    } catch (cause) {
      throw new Misuse(
        `expected the files of ${table.table} to contain what was written, got something else: a value that Parquet cannot hold, such as a timestamp before Christ, or a failing disk; nothing was removed (${reasonOf(cause)})`,
        { cause },
      )
    }
  }
}

/** Throws if the numbers of deleted and written rows differ; returns the number. */
function holdAgainst(
  tables: readonly ManifestTable[],
  gone: ReadonlyMap<string, number>,
  day: string,
): number {
  let sum = 0
  for (const [name, rows] of gone) {
    const written = tables.find(({ table }) => table === name)?.rows
    if (written !== rows) {
      throw new Misuse(
        `expected ${written ?? 0} rows of ${name} to be deleted with ${day}, got ${rows}; nothing was removed: run the same command again`,
      )
    }
    sum += rows
  }
  return sum
}

/** Engine and target of a file. */
interface Maker {
  readonly folder: ArchiveTarget
  readonly engine: ParquetEngine
}

/** A Parquet file being written to the archive. */
class Piece {
  readonly #maker: Maker
  readonly #name: string
  readonly #spool: ReturnType<ParquetEngine['spool']>

  constructor(maker: Maker, name: string) {
    this.#maker = maker
    this.#name = name
    this.#spool = maker.engine.spool()
  }

  /** Bytes of text so far. */
  get bytes(): number {
    return this.#spool.bytes
  }

  add(rows: CopiedRows): void {
    this.#spool.add(rows)
  }

  /** Writes the complete file to disk under a draft name. */
  async end(columns: readonly FiledColumn[]): Promise<ArchivedFile> {
    const { engine, folder } = this.#maker
    const handle = await folder.draft(this.#name)
    const path = join(folder.path, folder.draftName(this.#name))
    try {
      await engine.write(this.#spool, columns, path)
      await handle.sync()
      const { size: bytes } = await handle.stat()
      return { path: this.#name, rows: this.#spool.rows, bytes, sha256: hashFile(path, path) }
    } finally {
      await handle.close()
    }
  }

  /** Discards an unfinished file. */
  drop(): void {
    this.#spool.drop()
  }
}

interface Way {
  readonly client: Archivist
  readonly engine: ParquetEngine
  readonly folder: ArchiveTarget
  readonly installation: string
}

type Part = { readonly run_date: string; readonly part: number }

/**
 * Deletes leftovers of an interrupted archive command: files of a day unknown to the database. If they contain answers
 * missing from the database, the database is an older copy, and the files are kept.
 */
async function clearWay(way: Way, of: Part, tables: readonly ManifestTable[]): Promise<void> {
  const { folder, installation } = way
  const { place } = folder
  const text = await place.readText(manifestPath(of))
  if (text !== null) {
    const path = place.where(manifestPath(of))
    await holdKnown(way, parseManifest(text, path, installation), path)
    await folder.remove([manifestPath(of)])
  }
  const ours = new Set(
    tables.flatMap(({ files }) => files.map((file) => folder.draftName(file.path))),
  )
  for (const { table } of tables) {
    const lies = dirname(filePath(table, of, 1))
    const found = await place.list(lies)
    const old = found
      .filter((name) => name.startsWith(`${of.part}-`))
      .map((name) => `${lies}/${name}`)
    await folder.remove(old.filter((name) => !ours.has(name)))
  }
  const manifest = basename(manifestPath(of))
  const drafts = (await place.list('days')).filter(
    (name) => name.startsWith(manifest) && name !== manifest,
  )
  await folder.remove(drafts.map((name) => `days/${name}`))
}

async function holdKnown({ client, engine, folder }: Way, manifest: Manifest, path: string) {
  const table = manifest.tables.find((each) => each.table === 'searches')
  if (table === undefined) return
  try {
    const filed = { engine, place: folder.place }
    await stageRows(client, table, readFiled(filed, table))
    if (await areStrange(client)) throw new Misuse('answers that are not in the tables')
  } catch (cause) {
    if (cause instanceof Unreachable) throw cause
    throw new Misuse(
      `expected ${path} to be left behind by an interrupted archive, got ${reasonOf(cause)}; nothing was changed: move it away, or name another folder`,
      { cause },
    )
  }
}
