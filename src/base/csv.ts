// Writes rows as CSV.

/** Value of a cell. Cells are written so that spreadsheets do not evaluate them. */
export type Cell = string | number | bigint | boolean | Date | null | undefined

export interface CsvOptions {
  /** If true, cells are written unchanged, and a spreadsheet may evaluate them. */
  readonly raw?: boolean
  /** If true, an empty string is written as "", to distinguish it from null. */
  readonly quoteEmpty?: boolean
  readonly delimiter?: string
}

export function csvLines(
  rows: readonly (readonly Cell[])[],
  { raw = false, quoteEmpty = false, delimiter = ',' }: CsvOptions = {},
): string {
  const signs = ['"', '\n', '\r', delimiter]
  const written = (cell: Cell): string => {
    if (cell === '' && quoteEmpty) return '""'
    const text = textOf(cell, raw)
    return signs.some((sign) => text.includes(sign)) ? `"${text.replaceAll('"', '""')}"` : text
  }
  return rows.map((row) => `${row.map(written).join(delimiter)}\n`).join('')
}

// Characters that make a spreadsheet treat a cell as a formula. The last four characters are full-width.
const formula = /^[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/

/** Returns the text of a cell. Only text cells are escaped, because a negative number must remain a number. */
function textOf(cell: Cell, raw: boolean): string {
  if (cell === null || cell === undefined) return ''
  if (cell instanceof Date) return cell.toISOString()
  if (typeof cell !== 'string') return String(cell)
  return !raw && formula.test(cell) ? `'${cell}` : cell
}
