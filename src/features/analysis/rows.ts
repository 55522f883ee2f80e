// Writes rows as CSV or JSON lines, batch by batch.
import { type Cell, csvLines, type CsvOptions } from '../../base/csv.ts'
import { type CellBatch, type CellColumn, jsonValue } from '../../base/database/fetch.ts'

export interface RowOptions extends Omit<CsvOptions, 'quoteEmpty'> {
  readonly bom?: boolean
}

/** Formats rows in batches, with constant memory use. For JSON, the database formats each line. */
export async function* writeRows(
  batches: AsyncIterable<CellBatch>,
  format: 'csv' | 'ndjson',
  { raw = false, bom = false, delimiter = ',' }: RowOptions = {},
): AsyncGenerator<string> {
  let first = true
  // Without a byte order mark, Excel decodes the file in its own code page.
  if (bom) yield '\ufeff'
  for await (const { columns, rows } of batches) {
    if (format === 'ndjson') {
      // Line breaks in JSON occur only between tokens, never inside a string.
      yield rows.map(([line]) => `${line?.replace(/[\r\n]+/g, ' ')}\n`).join('')
      continue
    }
    if (first) yield csvLines([columns.map(({ name }) => name)], { delimiter })
    const cells = rows.map((row) => row.map((value, index) => cell(value, columns[index])))
    yield csvLines(cells, { raw, quoteEmpty: true, delimiter })
    first = false
  }
}

export async function* countRows(
  batches: AsyncIterable<CellBatch>,
  add: (rows: number) => void,
): AsyncGenerator<CellBatch> {
  for await (const batch of batches) {
    add(batch.rows.length)
    yield batch
  }
}

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
  // Pandas and spreadsheets would not read "t" as true.
  if (column?.kind === 'boolean') return value === 't'
  if (column?.kind !== 'number') return value
  // Integers keep all digits. Numbers are not escaped, because a negative number is not a formula.
  return /^-?\d+$/.test(value) ? BigInt(value) : Number(value)
}
