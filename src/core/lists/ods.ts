// Reads the sheets in an OpenDocument spreadsheet as CSV lines.

import { text as textOf } from 'node:stream/consumers'
import { Misuse } from '../../base/errors.ts'
import { type Attributes, parseWhole, type Sheet, type SheetRows, type XmlReader } from './sheet.ts'
import { dateOf } from './xlsx.ts'
import type { Archive } from './zip.ts'

const part = 'content.xml'
const mediaType = 'application/vnd.oasis.opendocument.spreadsheet'

export async function isOds({ names, read }: Archive): Promise<boolean> {
  if (!names.includes('mimetype')) return false
  return (await textOf(read('mimetype'))).startsWith(mediaType)
}

/** Names of the styles that show a number as a date. Some programs store dates as numbers. */
type DateStyles = ReadonlySet<string | undefined>

export async function odsSheets(archive: Archive): Promise<readonly Sheet[]> {
  const sheets: Sheet[] = []
  const dates = new Set<string | undefined>()
  const hiddenStyles = new Set<string | undefined>()
  let style: string | undefined
  let depth = 0
  const open = (name: string, attributes: Attributes): void => {
    if (name === 'date-style') dates.add(attributes['style:name'])
    if (name === 'style') {
      style = attributes['style:name']
      if (dates.has(attributes['style:data-style-name'])) dates.add(style)
    }
    if (name === 'table-properties' && attributes['table:display'] === 'false')
      hiddenStyles.add(style)
    if (name !== 'table' || depth++ > 0) return
    const hidden = hiddenStyles.has(attributes['table:style-name'])
    const at = sheets.length
    const reader = (rows: SheetRows) => new RowReader({ sheet: at, dates }, rows)
    sheets.push({ name: attributes['table:name'] ?? String(at + 1), hidden, part, reader })
  }
  const close = (name: string): void => {
    if (name === 'table') depth--
  }
  await parseWhole(archive, part, { open, close })
  return sheets
}

/** Index of a sheet in the file, and the date styles of the file. */
interface Wanted {
  readonly sheet: number
  readonly dates: DateStyles
}

/**
 * Maximum number of repeats of a row or cell with a value. A file stores equal rows or cells once, with the number of
 * repeats. Blank rows and cells, which fill the sheet to its end, may be repeated more often.
 */
const mostRepeats = 10_000

class RowReader implements XmlReader {
  readonly #wanted: Wanted
  readonly #rows: SheetRows
  #seen = -1
  #depth = 0
  #row = 1
  #rowStart: Attributes = {}
  #cells: (string | undefined)[] = []
  #column = 0
  #cell: Attributes | null = null
  /**
   * Number of open elements inside the cell. Paragraphs of comments and shapes are nested deeper than the text of the
   * cell.
   */
  #level = 0
  #inText = false
  #text = ''

  constructor(wanted: Wanted, rows: SheetRows) {
    this.#wanted = wanted
    this.#rows = rows
  }

  readonly open = (name: string, attributes: Attributes): void => {
    if (name === 'table' && this.#depth++ === 0) this.#seen++
    if (this.#seen !== this.#wanted.sheet || this.#depth !== 1) return
    if (this.#cell !== null) this.#openInside(name)
    else if (name === 'table-row') {
      this.#rowStart = attributes
      this.#cells = []
      this.#column = 0
    } else if (name === 'table-cell') {
      this.#cell = attributes
      this.#level = 0
      this.#text = ''
    } else if (name === 'covered-table-cell') this.#column += repeatsOf(attributes, 'columns')
  }

  #openInside(name: string): void {
    this.#level++
    if (name === 'p' && this.#level === 1) {
      this.#inText = true
      if (this.#text !== '') this.#text += ' '
    } else if (this.#inText && (name === 's' || name === 'tab' || name === 'line-break')) {
      this.#text += ' '
    }
  }

  readonly text = (text: string): void => {
    if (this.#inText) this.#text += text
  }

  readonly close = (name: string): void => {
    if (name === 'table') this.#depth--
    if (this.#seen !== this.#wanted.sheet || this.#depth !== 1) return
    if (this.#cell !== null && this.#level > 0) {
      this.#level--
      if (this.#level === 0) this.#inText = false
    } else if (this.#cell !== null) {
      this.#endCell(this.#cell)
      this.#cell = null
    } else if (name === 'table-row') this.#endRow()
  }

  #endCell(cell: Attributes): void {
    const repeats = repeatsOf(cell, 'columns')
    const text = shownIn(cell, this.#text, this.#wanted.dates)
    if (text !== '') {
      refuseMany(repeats)
      for (let more = 0; more < repeats; more++) this.#cells[this.#column + more] = text
    }
    this.#column += repeats
  }

  #endRow(): void {
    const repeats = repeatsOf(this.#rowStart, 'rows')
    if (this.#cells.length > 0) {
      refuseMany(repeats)
      const hidden = (this.#rowStart['table:visibility'] ?? 'visible') !== 'visible'
      for (let row = this.#row; row < this.#row + repeats; row++) {
        this.#rows.add(row, this.#cells, hidden)
      }
    }
    this.#row += repeats
  }
}

function repeatsOf(attributes: Attributes, of: 'rows' | 'columns'): number {
  return Number(attributes[`table:number-${of}-repeated`] ?? 1)
}

function refuseMany(repeats: number): void {
  if (repeats <= mostRepeats) return
  throw new Misuse(
    `expected a spreadsheet whose rows and cells are repeated at most ${mostRepeats} times, got ${repeats} times; save the sheet as CSV`,
  )
}

/** Returns the text of a cell for a list. A number keeps only the leading zeros and the percent sign of its format. */
function shownIn(cell: Attributes, text: string, dates: DateStyles): string {
  const date = cell['office:date-value']
  if (date !== undefined) return date.includes('T') ? date.slice(0, 19) : `${date}T00:00:00`
  if (cell['calcext:value-type'] === 'error') return '#N/A'
  const isNumber = /^(?:float|percentage|currency)$/.test(cell['office:value-type'] ?? '')
  const value = cell['office:value']
  if (isNumber && value !== undefined) {
    if (dates.has(cell['table:style-name'])) return dateOf(Number(value))
    return /^0\d+$|%$/.test(text) ? text : value
  }
  if (text !== '') return text
  if (cell['office:string-value'] !== undefined) return cell['office:string-value']
  // The value of the formula was not stored in the file.
  return cell['table:formula'] !== undefined && cell['office:value-type'] === undefined
    ? '=(…)'
    : ''
}
