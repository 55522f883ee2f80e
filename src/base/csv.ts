// Writes rows as CSV.

import { stringify, type Options } from 'csv-stringify/sync'

/** Value of a cell. Cells are written so that no spreadsheet evaluates them. */
export type Cell = string | number | bigint | boolean | Date | null | undefined

const options = {
  // A cell that begins with =, +, - or @ would be run as a formula by spreadsheets.
  escape_formulas: true,
  record_delimiter: 'unix',
  // Many readers treat a lone carriage return as a line end.
  quoted_match: /\r/,
  cast: {
    boolean: (value) => String(value),
    date: (value) => value.toISOString(),
    // A number can't be a formula, and must remain a number with its sign.
    number: (value) => ({ value: String(value), escape_formulas: false }),
    bigint: (value) => ({ value: String(value), escape_formulas: false }),
  },
} satisfies Options

interface CsvOptions {
  /** If true, cells are written unchanged, and a spreadsheet may evaluate them. */
  readonly raw?: boolean
  /** If true, an empty string is written as "", to distinguish it from null. */
  readonly quoteEmpty?: boolean
  readonly delimiter?: string
}

/** Formats rows as CSV lines, each with its line end. */
export function csvLines(
  rows: readonly (readonly Cell[])[],
  { raw = false, quoteEmpty = false, delimiter = ',' }: CsvOptions = {},
): string {
  return stringify(
    rows.map((row) => [...row]),
    {
      ...options,
      delimiter,
      escape_formulas: !raw,
      ...(quoteEmpty ? { cast: { ...options.cast, string: quotedEmpty } } : {}),
    },
  )
}

function quotedEmpty(value: string): string | { value: string; quoted_empty: true } {
  return value === '' ? { value, quoted_empty: true } : value
}
