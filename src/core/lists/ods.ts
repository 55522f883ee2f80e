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

export async function odsSheets(archive: Archive): Promise<readonly Sheet[]> {
  const sheets: Sheet[] = []
  // Some programs store dates as numbers, with a style that shows them as dates.
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
    const reader = (rows: SheetRows) => new RowReader(at, dates, rows)
    sheets.push({ name: attributes['table:name'] ?? String(at + 1), hidden, part, reader })
  }
  const close = (name: string): void => {
    if (name === 'table') depth--
  }
  await parseWhole(archive, part, { open, close })
  return sheets
}

/** Maximum repeat count of a row or cell, except blanks, which fill the rest of a sheet. */
const mostRepeats = 10_000

class RowReader implements XmlReader {
  readonly #sheet: number
  readonly #dates: ReadonlySet<string | undefined>
  readonly #rows: SheetRows
  #seen = -1
  #depth = 0
  #row = 1
  #rowStart: Attributes = {}
  #cells: (string | undefined)[] = []
  #column = 0
  #cell: Attributes | null = null
  /** Depth inside the cell. Paragraphs in comments and shapes are nested more deeply than the cell's text. */
  #level = 0
  #inText = false
  #text = ''

  constructor(sheet: number, dates: ReadonlySet<string | undefined>, rows: SheetRows) {
    this.#sheet = sheet
    this.#dates = dates
    this.#rows = rows
  }

  readonly open = (name: string, attributes: Attributes): void => {
    if (name === 'table' && this.#depth++ === 0) this.#seen++
    if (this.#seen !== this.#sheet || this.#depth !== 1) return
    if (this.#cell !== null) this.#openInside(name)
    else if (name === 'table-row') {
      this.#rowStart = attributes
      this.#cells = []
      this.#column = 0
    } else if (name === 'table-cell') {
      this.#cell = attributes
      this.#level = 0
      this.#text = ''
    } else if (name === 'covered-table-cell') this.#column += repeatsOf(attributes, 'columns', true)
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
    if (this.#seen !== this.#sheet || this.#depth !== 1) return
    if (this.#cell !== null && this.#level > 0) {
      this.#level--
      if (this.#level === 0) this.#inText = false
    } else if (this.#cell !== null) {
      this.#endCell(this.#cell)
      this.#cell = null
    } else if (name === 'table-row') this.#endRow()
  }

  #endCell(cell: Attributes): void {
    const text = shownIn(cell, this.#text, this.#dates)
    const isBlank = text === ''
    const end = this.#column + repeatsOf(cell, 'columns', isBlank)
    if (isBlank) this.#column = end
    while (this.#column < end) this.#cells[this.#column++] = text
  }

  #endRow(): void {
    const isBlank = this.#cells.length === 0
    const end = this.#row + repeatsOf(this.#rowStart, 'rows', isBlank)
    const hidden = (this.#rowStart['table:visibility'] ?? 'visible') !== 'visible'
    if (isBlank) this.#row = end
    while (this.#row < end) this.#rows.add(this.#row++, this.#cells, hidden)
  }
}

function repeatsOf(attributes: Attributes, of: 'rows' | 'columns', isBlank: boolean): number {
  const repeats = Number(attributes[`table:number-${of}-repeated`] ?? 1)
  if (isBlank || repeats <= mostRepeats) return repeats
  throw new Misuse(
    `expected at most ${mostRepeats} repetitions of a row or cell, got ${repeats}; save the sheet as CSV`,
  )
}

/** Ignores number formats, except for leading zeros and percent signs. */
function shownIn(cell: Attributes, text: string, dates: ReadonlySet<string | undefined>): string {
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
  // A formula without a stored value is shown as text, so that its row is not silently skipped.
  return cell['table:formula'] !== undefined && cell['office:value-type'] === undefined
    ? '=(…)'
    : ''
}
