// Writes rows as an Excel workbook.
import { writeXlsxStream } from 'hucre/xlsx'
import { count } from '../../base/cli/text.ts'
import type { CellBatch, CellColumn } from '../../base/database/fetch.ts'

/** A cell value. The library never writes a string as a formula. */
type SheetCell = string | number | boolean | Date | null

// Maximum length of a text. Excel refuses to open a file with longer texts.
const longestText = 32_767
// Earlier days are not written as dates, because Excel miscounts the days in January and February 1900.
const firstDay = Date.UTC(1900, 2, 1)
// Type ids of date, timestamp and timestamptz.
const [date, timestamp, timestamptz] = [1082, 1114, 1184]

/** Writes rows as one workbook, in sheets of 1,048,576 rows, with constant memory use. Warns if texts were cut. */
export async function* writeWorkbook(
  batches: AsyncIterable<CellBatch>,
  warn: (line: string) => void,
): AsyncGenerator<Uint8Array> {
  const rest = batches[Symbol.asyncIterator]()
  const first = await rest.next()
  if (first.done === true) return
  const { columns } = first.value
  let cut = 0
  const fit = (text: string): string => {
    if (text.length <= longestText) return escape(text)
    cut += 1
    return escape(`${text.slice(0, longestText - 1)}…`)
  }
  async function* cells(): AsyncGenerator<SheetCell[]> {
    for (let next = first; next.done !== true; next = await rest.next()) {
      for (const row of next.value.rows) {
        yield row.map((text, index) => (text === null ? null : cell(text, columns[index], fit)))
      }
    }
  }
  yield* writeXlsxStream(cells(), {
    name: 'querymill',
    columns: columns.map(({ name, type }) => ({ header: escape(name), ...formatOf(type) })),
    freezePane: { rows: 1 },
  })
  if (cut === 0) return
  warn(
    `${count(cut, 'text')} shortened to the cell limit of 32,767 characters; csv, ndjson and parquet have no such limit`,
  )
}

function formatOf(type: number): { readonly numFmt?: string } {
  if (type === date) return { numFmt: 'yyyy-mm-dd' }
  return type === timestamp || type === timestamptz ? { numFmt: 'yyyy-mm-dd hh:mm:ss' } : {}
}

function cell(
  text: string,
  column: CellColumn | undefined,
  fit: (text: string) => string,
): SheetCell {
  if (column?.kind === 'boolean') return text === 't'
  if (column?.kind === 'number') return numberIn(text) ?? text
  return dateIn(text, column?.type) ?? fit(text)
}

/** Parses a number, or returns null for NaN, infinity, and integers that a spreadsheet cannot hold exactly. */
function numberIn(text: string): number | null {
  const number = Number(text)
  const exact = Number.isSafeInteger(number) || !/^-?\d+$/.test(text)
  return Number.isFinite(number) && exact ? number : null
}

/** Parses a day, or a time in UTC, because spreadsheets have no time zones. Returns null for an unsupported date. */
function dateIn(text: string, type: number | undefined): Date | null {
  const iso = type === date ? `${text}T00:00:00Z` : isoOf(text, type)
  const found = new Date(iso ?? Number.NaN)
  return found.getTime() >= firstDay && found.getUTCFullYear() < 10_000 ? found : null
}

function isoOf(text: string, type: number | undefined): string | null {
  const given = text.replace(' ', 'T')
  if (type === timestamp) return `${given}Z`
  // The server writes offsets as +01 or +05:30. Times before the introduction of standard time have offsets with
  // seconds.
  return type === timestamptz ? given.replace(/([+-]\d\d)$/, '$1:00') : null
}

/** Escapes codes such as `_x0041_`, which Excel would decode. */
function escape(text: string): string {
  return text.replace(/_(?=x[\dA-Fa-f]{4}_)/g, '_x005F_')
}
