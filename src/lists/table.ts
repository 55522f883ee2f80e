import { Misuse } from '../errors.ts'
import { plainName } from './names.ts'
import { decode } from './decode.ts'
import { detectEncoding } from './encoding.ts'
import { Cutter } from './records.ts'
import { openFile, peek } from './source.ts'

/** A row of a small file of settings, by the names of its header. */
export interface TableRow {
  readonly line: number
  readonly fields: ReadonlyMap<string, string>
}

const largest = 4 * 1024 * 1024

/** Reads a small CSV file with a header, its columns divided by commas; names are lower case, blanks for underscores too. */
export async function readTable(path: string, shown: string): Promise<readonly TableRow[]> {
  const source = await openFile(path, shown)
  try {
    const { head, whole, all } = await peek(source.chunks, largest)
    if (!whole) throw new Misuse(`expected ${shown} to be a small table, got more than 4 MiB`)
    const encoding = await detectEncoding(head, whole, undefined)
    if (encoding.guessed) {
      throw new Misuse(`expected ${shown} to be UTF-8, got other bytes; save it as UTF-8`)
    }
    const cutter = new Cutter(',', shown)
    const rows: { line: number; cells: readonly string[] }[] = []
    for await (const piece of decode(all, encoding, { shown }))
      take(cutter.push(piece, false), rows)
    take(cutter.push(Buffer.alloc(0), true), rows)
    return named(rows, shown)
  } finally {
    await source.close()
  }

  function take(
    { cells, lines, broken }: ReturnType<Cutter['push']>,
    rows: { line: number; cells: readonly string[] }[],
  ): void {
    const [first] = broken
    if (first !== undefined) {
      throw new Misuse(`${shown}:${first.line}: expected whole cells, got ${first.reason}`)
    }
    for (const [index, row] of cells.entries()) {
      if (row.some((cell) => cell.trim() !== '')) rows.push({ line: lines[index] ?? 0, cells: row })
    }
  }
}

function named(
  rows: readonly { line: number; cells: readonly string[] }[],
  shown: string,
): readonly TableRow[] {
  const [header, ...rest] = rows
  if (header === undefined) return []
  const names = header.cells.map((cell) => plainName(cell).replaceAll(' ', '_'))
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index)
  if (twice !== undefined) {
    throw new Misuse(`${shown}:${header.line}: expected each column once, got ${twice} twice`)
  }
  return rest.map(({ line, cells }) => {
    if (cells.slice(names.length).some((cell) => cell.trim() !== '')) {
      throw new Misuse(
        `${shown}:${line}: expected ${names.length} cells as in the header, got ${cells.length}`,
      )
    }
    return {
      line,
      fields: new Map(names.map((name, index) => [name, (cells[index] ?? '').trim()])),
    }
  })
}
