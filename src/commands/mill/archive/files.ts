import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { codeOf, Misuse, reasonOf } from '../../../shared/errors.ts'
import { readParquet, type FiledRows } from '../parquet/read.ts'
import type { ManifestTable } from './manifest.ts'
import type { ArchivePlace } from './place.ts'

/** Adds rows to the sum that a manifest tells. */
export function sumRows(sum: Hash, rows: FiledRows): void {
  sum.update(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
}

/** The rows of a table, file by file, each file held to its hash before a row of it is given, all of them to the sum. */
export async function* readFiled(
  place: ArchivePlace,
  table: ManifestTable,
): AsyncGenerator<FiledRows> {
  const sum = createHash('sha256')
  let rows = 0
  for (const file of table.files) {
    const where = place.where(file.path)
    const fetched = await place.fetch(file.path)
    try {
      const found = await hashFile(fetched.path, where)
      if (found !== file.sha256) throw altered(where, `sha256 ${file.sha256}`, found)
      for await (const some of readWhole(fetched.path, where)) {
        sumRows(sum, some)
        rows += some.length
        yield some
      }
    } finally {
      await fetched.done()
    }
  }
  const found = sum.digest('hex')
  if (rows !== table.rows || found !== table.sum) {
    const where = place.where(table.table)
    throw altered(where, `${table.rows} rows of sum ${table.sum}`, `${rows} of ${found}`)
  }
}

async function* readWhole(path: string, where: string): AsyncGenerator<FiledRows> {
  try {
    yield* readParquet(path)
  } catch (cause) {
    throw new Misuse(`expected ${where} to be a Parquet file, got ${reasonOf(cause)}`, { cause })
  }
}

async function hashFile(path: string, where: string): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const piece of createReadStream(path)) hash.update(piece as Buffer)
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
