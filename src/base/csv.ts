// Writes rows as CSV.

import { stringify, type Options } from 'csv-stringify/sync'

/** One cell: what it holds is written so that no spreadsheet computes it. */
export type Cell = string | number | bigint | boolean | Date | null | undefined

const options = {
  // A cell that begins with =, +, - or @ would be run as a formula by spreadsheets.
  escape_formulas: true,
  record_delimiter: 'unix',
  // Many readers end a line at a carriage return of its own.
  quoted_match: /\r/,
  cast: {
    boolean: (value) => String(value),
    date: (value) => value.toISOString(),
    // A number cannot be a formula, and must stay a number with its sign.
    number: (value) => ({ value: String(value), escape_formulas: false }),
    bigint: (value) => ({ value: String(value), escape_formulas: false }),
  },
} satisfies Options

interface CsvOptions {
  /** True: cells are written as they are, and a spreadsheet may compute them. */
  readonly raw?: boolean
  /** True: an empty text is written as "", so that it differs from null. */
  readonly quoteEmpty?: boolean
}

/** Rows as lines of CSV, each with its line end. */
export function csvLines(
  rows: readonly (readonly Cell[])[],
  { raw = false, quoteEmpty = false }: CsvOptions = {},
): string {
  return stringify(
    rows.map((row) => [...row]),
    {
      ...options,
      escape_formulas: !raw,
      ...(quoteEmpty ? { cast: { ...options.cast, string: quotedEmpty } } : {}),
    },
  )
}

function quotedEmpty(value: string): string | { value: string; quoted_empty: true } {
  return value === '' ? { value, quoted_empty: true } : value
}
