// Reads and checks the manifests and Parquet files in an archive.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { codeOf, Misuse, reasonOf } from '../../base/errors.ts'
import type { FiledColumn } from './copy.ts'
import type { ArchivedDay } from './days.ts'
import { chunksOf, type ParquetEngine } from './engine.ts'
import type { ArchiveFolder } from './folder.ts'

export interface FiledPlace {
  readonly engine: ParquetEngine
  readonly folder: ArchiveFolder
}

/** Reads columns of a table. Checks the hash of each file and, if all columns are read, the checksum over all rows. */
export async function* readFiled(
  { engine, folder }: FiledPlace,
  table: ManifestTable,
  columns: readonly FiledColumn[] = table.columns,
): AsyncGenerator<Buffer> {
  const whole = columns.length === table.columns.length
  const sum = createHash('sha256')
  for (const file of table.files) {
    const path = folder.where(file.path)
    const hash = hashFile(path)
    if (hash !== file.sha256) throw altered(path, `sha256 ${file.sha256}`, hash)
    try {
      for await (const bytes of engine.rows(path, columns, whole ? 'quoted' : 'plain')) {
        if (whole) sum.update(bytes)
        yield bytes
      }
    } catch (cause) {
      if (cause instanceof Misuse) throw cause
      throw new Misuse(`${path} is not a readable Parquet file: ${reasonOf(cause)}`, { cause })
    }
  }
  const found = sum.digest('hex')
  if (whole && found !== table.sum)
    throw altered(folder.where(table.table), `sum ${table.sum}`, found)
}

/** Reads a whole table, and throws an error if anything differs from the manifest. */
export async function holdFiled(place: FiledPlace, table: ManifestTable): Promise<void> {
  for await (const _ of readFiled(place, table));
}

export function hashFile(path: string): string {
  const hash = createHash('sha256')
  try {
    for (const bytes of chunksOf(path)) hash.update(bytes)
  } catch (cause) {
    const got = codeOf(cause) === 'ENOENT' ? 'no such file' : (codeOf(cause) ?? 'an error')
    throw new Misuse(
      `expected the archive file ${path}, got ${got}; nothing was changed: restore the file`,
      { cause },
    )
  }
  return hash.digest('hex')
}

function altered(what: string, expected: string, got: string): Misuse {
  return new Misuse(
    `expected ${what} to be unchanged (${expected}), got ${got}; restore the original file (nothing was changed)`,
  )
}

/** Version of the layout that this release writes and reads. Any other version causes an error. */
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
  /** Hexadecimal SHA-256 of all rows in order, formatted as in `copy … to stdout (format csv, force_quote *)`. */
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

export type DayPart = Pick<ArchivedDay, 'run_date' | 'part'>

export function manifestPath({ run_date: day, part }: DayPart): string {
  return `days/${day}.${part}.json`
}

/** Path of a file that belongs to a table. Files are partitioned by day in Hive style. */
export function filePath(table: string, { run_date: day, part }: DayPart, number: number): string {
  return `${table}/run_date=${day}/${part}-${String(number).padStart(3, '0')}.parquet`
}

export function sha256Of(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Parses a manifest. Rejects a manifest from a different installation or with a different layout. */
export function parseManifest(text: string, path: string, installation: string): Manifest {
  const manifest = parsed(text)
  const read = manifestShape.safeParse(manifest)
  if (!read.success) {
    const { data } = z.object({ version: z.number() }).safeParse(manifest)
    throw new Misuse(
      data !== undefined && data.version !== archiveVersion
        ? `expected ${path} to have layout ${archiveVersion}, got ${data.version}; use the release that wrote the file`
        : `expected ${path} to be a manifest written by this program, got something else; restore the original file`,
    )
  }
  if (read.data.installation !== installation) {
    throw new Misuse(
      `expected an archive of this database, got ${path}, which belongs to another installation (${read.data.installation}); choose another folder`,
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

export async function readManifest(
  day: ArchivedDay,
  { folder, installation }: { readonly folder: ArchiveFolder; readonly installation: string },
): Promise<Manifest> {
  const name = manifestPath(day)
  const path = folder.where(name)
  const text = await folder.readText(name)
  if (text === null) {
    throw new Misuse(
      `found no manifest for ${day.run_date} at ${path}; if the archive was moved, specify its new folder`,
    )
  }
  const hash = sha256Of(text)
  if (hash !== day.manifest_sha256) throw altered(path, `sha256 ${day.manifest_sha256}`, hash)
  return parseManifest(text, path, installation)
}
