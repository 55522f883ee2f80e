// Reads small CSV configuration files.

import { buffer } from 'node:stream/consumers'
import { Misuse } from '../../base/errors.ts'
import { plainName } from './columns.ts'
import { decode, detectEncoding } from './encoding.ts'
import { Cutter } from './records.ts'
import { openFile, peek } from './source.ts'
import { isBlank, isFilled } from './values.ts'

/** A row in a configuration file. */
export type TableRow = ReturnType<typeof named>[number]

const largest = 4 * 1024 * 1024

/** Column names become lower case, with underscores instead of blanks. */
export async function readTable(path: string, shown: string): Promise<readonly TableRow[]> {
  const rows = await readRows(path, shown)
  const bad = rows.find(({ problem }) => problem !== null)
  if (bad !== undefined) throw new Misuse(`${shown}:${bad.line}: ${bad.problem}`)
  return rows
}

/** Returns valid and invalid rows, unlike `readTable`, which throws an error. */
export async function readRows(path: string, shown: string): Promise<readonly TableRow[]> {
  const source = await openFile(path, shown)
  try {
    const { head, whole, all } = await peek(source.chunks, largest)
    if (!whole)
      throw new Misuse(`expected ${shown} to be a small table, got a file larger than 4 MiB`)
    const encoding = await detectEncoding(head, whole, undefined)
    if (encoding.how === 'guessed') {
      throw new Misuse(`expected ${shown} to be UTF-8, got another encoding; save it as UTF-8`)
    }
    const text = await buffer(decode(all, encoding, { shown }))
    const { records, broken } = new Cutter(',', shown).push(text, true)
    const rows = [
      ...records.filter(({ cells }) => !isBlank(cells)).map((row) => ({ ...row, problem: null })),
      ...broken.map(({ line, reason, content }) => {
        return { line, cells: [content], problem: `expected complete cells, got ${reason}` }
      }),
    ].toSorted((one, other) => one.line - other.line)
    return named(rows, shown)
  } finally {
    await source.close()
  }
}

interface Row {
  readonly line: number
  readonly cells: readonly string[]
  readonly problem: string | null
}

function named(rows: readonly Row[], shown: string) {
  const [header, ...rest] = rows
  // An empty file is an error, because an editor may be rewriting it.
  if (header === undefined) {
    throw new Misuse(
      `expected ${shown} to begin with a header, got an empty file; add a line with the column names`,
    )
  }
  if (header.problem !== null) throw new Misuse(`${shown}:${header.line}: ${header.problem}`)
  const names = header.cells.map((cell) => plainName(cell).replaceAll(' ', '_'))
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw new Misuse(`${shown}:${header.line}: expected each column once, got ${twice} twice`)
  }
  return rest.map(({ line, cells, problem }) => {
    const tooMany = cells.slice(names.length).some(isFilled)
    const counted = tooMany
      ? `expected ${names.length} cells, as in the header, got ${cells.length}`
      : null
    const fields = new Map(names.map((name, index) => [name, (cells[index] ?? '').trim()]))
    // The reason why the row is invalid is null for a valid row.
    return { line, fields, problem: problem ?? counted }
  })
}
