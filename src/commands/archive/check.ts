import { basename } from 'node:path'
import { MillError, Unreachable } from '../../shared/errors.ts'
import type { ArchivedDay } from '../../store/archive/days.ts'
import { withEngine, type ParquetEngine } from '../mill/archive/engine.ts'
import { holdFiled } from '../mill/archive/files.ts'
import { manifestPath, readManifest } from '../mill/archive/manifest.ts'
import type { ArchivePlace } from '../mill/archive/place.ts'

/** What reading an archive came to. */
export interface CheckedArchive {
  readonly days: number
  readonly files: number
  readonly rows: number
  readonly problems: readonly string[]
  /** Manifests that the database knows nothing of. */
  readonly unknown: readonly string[]
}

interface CheckOptions {
  /** Where the archive lies now; undefined: where each day was written. */
  readonly folder: string | undefined
  readonly places: (address: string) => ArchivePlace
  readonly installation: string
  readonly tell: (line: string) => void
}

/** Reads every manifest and every file, and holds them to what was written down; changes nothing. */
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
      // A bucket out of reach says nothing of what lies in it.
      if (!(error instanceof MillError) || error instanceof Unreachable) throw error
      problems.push(`${day.run_date}: ${error.message}`)
      options.tell(problems.at(-1) ?? '')
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
  const filed = { engine, place, version: manifest.version }
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
