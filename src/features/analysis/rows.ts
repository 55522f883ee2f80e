// Writes rows as CSV or JSON lines, batch by batch.
import { type Cell, csvLines } from '../../base/csv.ts'
import { type CellBatch, type CellColumn, jsonValue } from '../../base/database/fetch.ts'
import { unhandled } from '../../base/errors.ts'

type RowFormat = 'csv' | 'ndjson'

export interface RowOptions {
  /** If true, cells are written unchanged, even if a spreadsheet would evaluate them. */
  readonly raw?: boolean
  /** If true, the file starts with a byte order mark. */
  readonly bom?: boolean
  readonly delimiter?: string
}

/** Formats rows batch by batch, with constant memory use. The database formats JSON lines. */
export async function* writeRows(
  batches: AsyncIterable<CellBatch>,
  format: RowFormat,
  { raw = false, bom = false, delimiter = ',' }: RowOptions = {},
): AsyncGenerator<string> {
  let first = true
  // Without a byte order mark, Excel decodes the file in its own code page.
  if (bom) yield '\ufeff'
  for await (const { columns, rows } of batches) {
    switch (format) {
      case 'csv':
        if (first) yield csvLines([columns.map(({ name }) => name)], { delimiter })
        yield csvLines(
          rows.map((row) => row.map((value, index) => cell(value, columns[index]))),
          { raw, quoteEmpty: true, delimiter },
        )
        break
      case 'ndjson':
        // JSON has line breaks only between its parts, never inside a string.
        yield rows.map(([line]) => `${line?.replace(/[\r\n]+/g, ' ')}\n`).join('')
        break
      default:
        throw unhandled('format', format)
    }
    first = false
  }
}

/** Converts a row to an object by column name. */
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
  // Pandas and spreadsheets would read the database's "t" as text.
  if (column?.kind === 'boolean') return value === 't'
  if (column?.kind !== 'number') return value
  // A number keeps all its digits, and needs no protection, because a number with a minus sign is not a formula.
  return /^-?\d+$/.test(value) ? BigInt(value) : Number(value)
}
