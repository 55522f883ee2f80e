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
    const reader = (rows: SheetRows) => createReader(at, dates, rows)
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

type Styles = ReadonlySet<string | undefined>

function createReader(sheet: number, dates: Styles, rows: SheetRows): XmlReader {
  let seen = -1
  let depth = 0
  let row = 1
  let rowStart: Attributes = {}
  let cells: (string | undefined)[] = []
  let column = 0
  let cell: Attributes | null = null
  // Depth inside the cell. Paragraphs in comments and shapes are nested more deeply than the cell's text.
  let level = 0
  let inText = false
  let written = ''

  function openInside(name: string): void {
    level++
    if (name === 'p' && level === 1) {
      inText = true
      if (written !== '') written += ' '
    } else if (inText && (name === 's' || name === 'tab' || name === 'line-break')) written += ' '
  }

  function endCell(ended: Attributes): void {
    const text = shownIn(ended, written, dates)
    const end = column + repeatsOf(ended, 'columns', text === '')
    if (text === '') column = end
    while (column < end) cells[column++] = text
  }

  function endRow(): void {
    const isBlank = cells.length === 0
    const end = row + repeatsOf(rowStart, 'rows', isBlank)
    const hidden = (rowStart['table:visibility'] ?? 'visible') !== 'visible'
    if (isBlank) row = end
    while (row < end) rows.add(row++, cells, hidden)
  }

  return {
    open(name, attributes) {
      if (name === 'table' && depth++ === 0) seen++
      if (seen !== sheet || depth !== 1) return
      if (cell !== null) openInside(name)
      else if (name === 'table-row') {
        rowStart = attributes
        cells = []
        column = 0
      } else if (name === 'table-cell') {
        cell = attributes
        level = 0
        written = ''
      } else if (name === 'covered-table-cell') column += repeatsOf(attributes, 'columns', true)
    },
    text(text) {
      if (inText) written += text
    },
    close(name) {
      if (name === 'table') depth--
      if (seen !== sheet || depth !== 1) return
      if (cell !== null && level > 0) {
        level--
        if (level === 0) inText = false
      } else if (cell !== null) {
        endCell(cell)
        cell = null
      } else if (name === 'table-row') endRow()
    },
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
function shownIn(cell: Attributes, text: string, dates: Styles): string {
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
