import { createHash } from 'node:crypto'
import { codeOf, Misuse, reasonOf } from '../../../shared/errors.ts'
import { summedColumns } from './cells.ts'
import { chunksOf } from './chunks.ts'
import type { FiledColumn } from '../../../store/archive/enter.ts'
import type { ParquetEngine } from './engine.ts'
import type { ArchivedFile, ManifestTable } from './manifest.ts'
import type { ArchivePlace, FetchedFile } from './place.ts'

/** Where the files of a table are read from, and how. */
export interface FiledPlace {
  readonly engine: ParquetEngine
  readonly place: ArchivePlace
  /** The layout by which the manifest was written. */
  readonly version: number
}

/**
 * The rows of a table as the server copied them out, file by file, each file held to its hash before a row of it is given,
 * all of them to the sum.
 */
export async function* readFiled(
  { engine, place, version }: FiledPlace,
  table: ManifestTable,
): AsyncGenerator<Buffer> {
  const sum = createHash('sha256')
  const columns = summedColumns(version, table.columns)
  for (const file of table.files) {
    const where = place.where(file.path)
    const fetched = await heldFile(place, file)
    try {
      if (version === 1) {
        for await (const lines of engine.lists(fetched.path, columns)) sum.update(lines)
      }
      for await (const bytes of engine.rows(fetched.path, columns)) {
        if (version !== 1) sum.update(bytes)
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
