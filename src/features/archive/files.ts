// Reads and checks manifests and Parquet files of an archive.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { codeOf, Misuse, reasonOf } from '../../base/errors.ts'
import type { FiledColumn } from './copy.ts'
import type { ArchivedDay } from './days.ts'
import type { ParquetEngine } from './engine.ts'
import type { ArchivePlace, FetchedFile } from './place.ts'
import { chunksOf } from './scratch.ts'

/** Place and engine for reading files. */
export interface FiledPlace {
  readonly engine: ParquetEngine
  readonly place: ArchivePlace
}

/**
 * The rows of a table as the server copied them out, file by file, each file held to its hash before a row of it is given,
 * all of them to the sum.
 */
export async function* readFiled(
  { engine, place }: FiledPlace,
  table: ManifestTable,
): AsyncGenerator<Buffer> {
  const sum = createHash('sha256')
  for (const file of table.files) {
    const where = place.where(file.path)
    const fetched = await heldFile(place, file)
    try {
      for await (const bytes of engine.rows(fetched.path, table.columns)) {
        sum.update(bytes)
        yield bytes
      }
    } catch (cause) {
      if (cause instanceof Misuse) throw cause
      throw new Misuse(`expected ${where} to be a Parquet file, got ${reasonOf(cause)}`, { cause })
    } finally {
      await fetched.done()
    }
  }
  const found = sum.digest('hex')
  if (found !== table.sum) throw altered(place.where(table.table), `sum ${table.sum}`, found)
}

/** Some columns alone of a table: each file is held to its hash. */
export async function* readFiledColumns(
  { engine, place }: FiledPlace,
  table: ManifestTable,
  columns: readonly FiledColumn[],
): AsyncGenerator<Buffer> {
  for (const file of table.files) {
    const fetched = await heldFile(place, file)
    try {
      yield* engine.plainRows(fetched.path, columns)
    } finally {
      await fetched.done()
    }
  }
}

async function heldFile(place: ArchivePlace, { path, sha256 }: ArchivedFile): Promise<FetchedFile> {
  const where = place.where(path)
  const fetched = await place.fetch(path)
  try {
    const found = hashFile(fetched.path, where)
    if (found !== sha256) throw altered(where, `sha256 ${sha256}`, found)
    return fetched
  } catch (error) {
    await fetched.done()
    throw error
  }
}

/** Reads all of it, for what it throws when anything is not as it was written. */
export async function holdFiled(place: FiledPlace, table: ManifestTable): Promise<void> {
  for await (const _ of readFiled(place, table));
}

/** Hex sha256 of a file as it lies on the disk. */
export function hashFile(path: string, where: string): string {
  const hash = createHash('sha256')
  try {
    for (const bytes of chunksOf(path)) hash.update(bytes)
  } catch (cause) {
    const got = codeOf(cause) === 'ENOENT' ? 'nothing there' : (codeOf(cause) ?? 'an error')
    throw new Misuse(
      `expected the file ${where} of the archive, got ${got}; put it back, nothing was changed`,
      { cause },
    )
  }
  return hash.digest('hex')
}

function altered(what: string, expected: string, got: string): Misuse {
  return new Misuse(
    `expected ${what} as it was written (${expected}), got ${got}; put back the file as it was written, nothing was changed`,
  )
}

/** The layout that is written and read: a program that finds another one says so. */
export const archiveVersion = 3

const fileShape = z.strictObject({
  path: z.string(),
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
})

const tableShape = z.strictObject({
  table: z.string(),
  kind: z.enum(['moved', 'copied']),
  rows: z.number(),
  /**
   * Hex sha256 over all rows in their order, as `copy … to stdout (format csv, force_quote *)` writes them, bytes as text
   * where they are text.
   */
  sum: z.string(),
  key: z.array(z.string()),
  columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
  files: z.array(fileShape),
})

const manifestShape = z.strictObject({
  archive: z.literal('querymill'),
  version: z.literal(archiveVersion),
  installation: z.string(),
  run_date: z.iso.date(),
  part: z.number().int().positive(),
  answers: z.number(),
  tables: z.array(tableShape),
  left_out: z.array(z.string()),
})

export type ArchivedFile = z.infer<typeof fileShape>
export type ManifestTable = z.infer<typeof tableShape>
export type Manifest = z.infer<typeof manifestShape>

type Part = Pick<ArchivedDay, 'run_date' | 'part'>

/** Path of the manifest of a day. */
export function manifestPath({ run_date: day, part }: Part): string {
  return `days/${day}.${part}.json`
}

/** Path of a file of a table, partitioned by day as Hive does. */
export function filePath(table: string, { run_date: day, part }: Part, number: number): string {
  return `${table}/run_date=${day}/${part}-${String(number).padStart(3, '0')}.parquet`
}

export function sha256Of(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Reads what a manifest says; one of another installation or layout is refused. */
export function parseManifest(text: string, path: string, installation: string): Manifest {
  const read = manifestShape.safeParse(parsed(text))
  if (!read.success) {
    const version = z.object({ version: z.number() }).safeParse(parsed(text))
    const other = version.success && version.data.version !== archiveVersion
    throw new Misuse(
      other
        ? `expected ${path} to be of layout ${archiveVersion}, got ${version.data.version}; use the release of this program that wrote it`
        : `expected ${path} to be a manifest as this program writes it, got something else; put back the file as it was written`,
    )
  }
  if (read.data.installation !== installation) {
    throw new Misuse(
      `expected an archive of this database, got ${path} of another installation (${read.data.installation}); name another place`,
    )
  }
  return read.data
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The manifest of a day in the archive, held to what the database wrote down of it. */
export async function readManifest(
  day: ArchivedDay,
  { place, installation }: { readonly place: ArchivePlace; readonly installation: string },
): Promise<Manifest> {
  const name = manifestPath(day)
  const path = place.where(name)
  const text = await place.readText(name)
  if (text === null) {
    throw new Misuse(
      `expected the manifest of ${day.run_date} at ${path}, got nothing there; where the archive was moved, name its place`,
    )
  }
  if (sha256Of(text) !== day.manifest_sha256) {
    throw new Misuse(
      `expected ${path} as it was written (sha256 ${day.manifest_sha256}), got another (${sha256Of(text)}); put back the file as it was written`,
    )
  }
  return parseManifest(text, path, installation)
}
