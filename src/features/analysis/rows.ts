// Writes rows as CSV or lines of JSON, batch by batch.
import { type Cell, csvLines } from '../../base/csv.ts'
import { type CellBatch, type CellColumn, jsonValue } from '../../base/database/fetch.ts'
import { unhandled } from '../../base/errors.ts'

type RowFormat = 'csv' | 'ndjson'

interface RowOptions {
  /** True: cells as they are, also where a spreadsheet would compute them. */
  readonly raw?: boolean
  /** True: a byte order mark first. */
  readonly bom?: boolean
}

/** Rows as a file wants them, batch by batch: memory stays the same however many there are. Lines of JSON are the database's own. */
export async function* writeRows(
  batches: AsyncIterable<CellBatch>,
  format: RowFormat,
  { raw = false, bom = false }: RowOptions = {},
): AsyncGenerator<string> {
  let first = true
  // Without it Excel takes the bytes for those of its own code page.
  if (bom) yield '\ufeff'
  for await (const { columns, rows } of batches) {
    switch (format) {
      case 'csv':
        if (first) yield csvLines([columns.map(({ name }) => name)])
        yield csvLines(
          rows.map((row) => row.map((value, index) => cell(value, columns[index]))),
          { raw, quoteEmpty: true },
        )
        break
      case 'ndjson':
        // A document keeps the breaks between its parts; within a text none is left.
        yield rows.map(([line]) => `${line?.replace(/[\r\n]+/g, ' ')}\n`).join('')
        break
      default:
        throw unhandled('format', format)
    }
    first = false
  }
}

/** One row with its columns by name. */
export function object(
  row: readonly (string | null)[],
  columns: readonly CellColumn[],
): Record<string, unknown> {
  return Object.fromEntries(
    columns.map((column, index) => [column.name, jsonValue(row[index] ?? null, column)]),
  )
}

function cell(value: string | null, column: CellColumn | undefined): Cell {
  if (value === null) return null
  // The database's own "t" is a word to pandas and to spreadsheets.
  if (column?.kind === 'boolean') return value === 't'
  if (column?.kind !== 'number') return value
  // Digits as the database has them, and no formula: a minus sign is no danger before a number.
  return /^-?\d+$/.test(value) ? BigInt(value) : Number(value)
}
