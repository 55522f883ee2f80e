import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Misuse } from '../../../shared/errors.ts'
import type { ArchivedDay } from '../../../store/archive/days.ts'
import type { ArchivePlace } from './place.ts'

/**
 * Which layout is written: a program that finds one that it does not know says so. Those before it differ in their sums only,
 * and are read as well.
 */
export const archiveVersion = 3
const knownVersions = [1, 2, archiveVersion] as const

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
   * where they are text. In layout 2: bytes always as hex. In layout 1: each row as a JSON list of the texts that Postgres
   * writes, and a line feed.
   */
  sum: z.string(),
  key: z.array(z.string()),
  columns: z.array(z.strictObject({ name: z.string(), type: z.string() })),
  files: z.array(fileShape),
})

const manifestShape = z.strictObject({
  archive: z.literal('querymill'),
  version: z.literal(knownVersions),
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

/** Where the manifest of a day lies in its archive. */
export function manifestPath({ run_date: day, part }: Part): string {
  return `days/${day}.${part}.json`
}

/** Where a file of a table lies: in the way that readers of partitioned folders take the day from. */
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
    const other = version.success && !knownVersions.some((known) => known === version.data.version)
    throw new Misuse(
      other
        ? `expected ${path} to be of layout ${archiveVersion} or before, got ${version.data.version}; use the release of this program that wrote it`
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
