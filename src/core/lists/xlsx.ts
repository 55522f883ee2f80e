// Reads the sheets of an Excel workbook as CSV lines.

import { StringDecoder } from 'node:string_decoder'
import { SaxesParser } from 'saxes'
import { Misuse, reasonOf } from '../../base/errors.ts'
import type { Archive } from './zip.ts'

/** A sheet of a spreadsheet, and its file in the archive. */
interface Sheet {
  readonly name: string
  readonly hidden: boolean
  readonly part: string
}

// The texts of a spreadsheet are stored separately from its rows and must all be in memory.
const mostTexts = 96 * 1024 * 1024

/** Sheets of a spreadsheet in order. */
export async function sheetsOf(archive: Archive, shown: string): Promise<readonly Sheet[]> {
  const targets = new Map<string, string>()
  await parseWhole(
    archive,
    { part: 'xl/_rels/workbook.xml.rels', shown },
    {
      open: (name, { Id = '', Target = '' }) => {
        if (name === 'Relationship') targets.set(Id, Target.replace(/^\/?(?:xl\/)?/, 'xl/'))
      },
    },
  )
  const sheets: Sheet[] = []
  await parseWhole(
    archive,
    { part: 'xl/workbook.xml', shown },
    {
      open: (name, attributes) => {
        if (name !== 'sheet') return
        // The prefix of the attribute depends on the program. A sheet without its file is refused when it is read.
        const key = Object.keys(attributes).find((one) => one.endsWith(':id')) ?? ''
        const part = targets.get(attributes[key] ?? '') ?? ''
        const hidden = (attributes['state'] ?? 'visible') !== 'visible'
        sheets.push({ name: attributes['name'] ?? part, part, hidden })
      },
    },
  )
  return sheets
}

/** Shared texts that the cells of all sheets refer to by number. */
export async function sharedTexts(archive: Archive, shown: string): Promise<readonly string[]> {
  const part = 'xl/sharedStrings.xml'
  if (!archive.names.includes(part)) return []
  if (archive.sizeOf(part) > mostTexts) {
    throw new Misuse(
      `expected a spreadsheet of at most ${mostTexts / 1024 / 1024} MiB of texts, got more in ${shown}; save the sheet as CSV`,
    )
  }
  const texts: string[] = []
  let text = ''
  let inText = false
  // Phonetic readings of Japanese characters are stored next to the text but are not part of it.
  let spoken = false
  await parseWhole(
    archive,
    { part, shown },
    {
      open: (name) => {
        if (name === 'si') text = ''
        if (name === 'rPh') spoken = true
        inText = name === 't' && !spoken
      },
      text: (more) => {
        if (inText) text += more
      },
      close: (name) => {
        inText = false
        if (name === 'rPh') spoken = false
        if (name === 'si') texts.push(unescaped(text))
      },
    },
  )
  return texts
}

/** Characters not allowed in XML are written as numbers: `_x000D_`. */
function unescaped(text: string): string {
  return text.replace(/_x([\dA-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** Indexes of the styles that show a number as a date. */
export async function dateStyles(archive: Archive, shown: string): Promise<ReadonlySet<number>> {
  const part = 'xl/styles.xml'
  const dates = new Set<number>()
  if (!archive.names.includes(part)) return dates
  const custom = new Set<string>()
  let styles = 0
  let inCells = false
  const open = (name: string, { numFmtId = '', formatCode = '' }: Attributes): void => {
    if (name === 'cellXfs') inCells = true
    if (name === 'numFmt' && showsDate(formatCode)) custom.add(numFmtId)
    if (name !== 'xf' || !inCells) return
    const id = Number(numFmtId)
    const known = (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 58)
    if ((known && id !== 48 && id !== 49) || custom.has(numFmtId)) dates.add(styles)
    styles++
  }
  const close = (name: string): void => {
    if (name === 'cellXfs') inCells = false
  }
  await parseWhole(archive, { part, shown }, { open, close })
  return dates
}

/** True for a format with days, months, years or hours, outside quoted words and colors. */
function showsDate(format: string): boolean {
  return /[dmyhs]/i.test(format.replace(/"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|general/gi, ''))
}

/** Parts of a workbook needed by its sheets, and the hidden rows found so far. */
interface Book {
  readonly texts: readonly string[]
  readonly dates: ReadonlySet<number>
  readonly hiddenRows: Set<number>
}

async function parseWhole(
  archive: Archive,
  of: { readonly part: string; readonly shown: string },
  element: XmlReader,
): Promise<void> {
  for await (const _ of parsed(archive, of, element)) continue
}

/** Parses one file of a spreadsheet piece by piece; results may be taken after each piece. */
async function* parsed(
  archive: Archive,
  { part, shown }: { readonly part: string; readonly shown: string },
  { open, text, close }: XmlReader,
): AsyncGenerator<void> {
  const parser = new SaxesParser()
  const decoder = new StringDecoder('utf8')
  parser.on('opentag', ({ name, attributes }) => open?.(bare(name), attributes))
  parser.on('text', (found) => text?.(found))
  parser.on('closetag', ({ name }) => close?.(bare(name)))
  try {
    for await (const piece of archive.read(part)) {
      parser.write(decoder.write(piece))
      yield
    }
    parser.close()
    yield
  } catch (cause) {
    if (cause instanceof Misuse) throw cause
    throw new Misuse(
      `expected ${shown} to be a whole spreadsheet, got ${part} in it that cannot be read: ${reasonOf(cause).split('\n')[0] ?? ''}`,
      { cause },
    )
  }
}

/** Removes a namespace prefix from a name. */
function bare(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

/** Rows of a sheet as CSV lines; the line number is the row number. */
export async function* sheetLines(
  archive: Archive,
  of: { readonly part: string; readonly shown: string },
  book: Book,
): AsyncGenerator<Buffer> {
  const rows = new SheetRows(book)
  for await (const _ of parsed(archive, of, rows)) {
    const lines = rows.take(false)
    if (lines !== '') yield Buffer.from(lines)
  }
  const lines = rows.take(true)
  if (lines !== '') yield Buffer.from(lines)
}

type Attributes = Readonly<Record<string, string>>

interface XmlReader {
  readonly open?: (name: string, attributes: Attributes) => void
  readonly text?: (text: string) => void
  readonly close?: (name: string) => void
}

/** Converts the XML of a sheet to CSV lines. */
class SheetRows implements XmlReader {
  readonly #book: Book
  #rows: { readonly row: number; readonly cells: readonly (string | undefined)[] }[] = []
  /** Width of the widest of the first rows: a header with merged cells must be as wide as its rows. */
  #width: number | null = null
  #written = 0
  #row = 0
  #hidden = false
  #cells: (string | undefined)[] = []
  #column = 0
  #kind = 'n'
  #isDate = false
  #value = ''
  #formula: string | null = null
  #within = ''

  constructor(book: Book) {
    this.#book = book
  }

  readonly open = (name: string, { r, t, s, hidden }: Attributes): void => {
    if (name === 'row') {
      this.#row = r === undefined ? this.#row + 1 : Number(r)
      this.#hidden = hidden === '1' || hidden === 'true'
      this.#cells = []
      this.#column = 0
    } else if (name === 'c') {
      this.#column = r === undefined ? this.#column : columnOf(r)
      this.#kind = t ?? 'n'
      this.#isDate = this.#kind === 'n' && this.#book.dates.has(Number(s ?? 0))
      this.#value = ''
      this.#formula = null
    } else if (name === 'f') this.#formula = ''
    this.#within = name
  }

  readonly text = (text: string): void => {
    if (this.#within === 'v' || this.#within === 't') this.#value += text
    if (this.#within === 'f') this.#formula += text
  }

  readonly close = (name: string): void => {
    this.#within = ''
    if (name === 'c') this.#endCell()
    if (name === 'row') this.#endRow()
  }

  #endCell(): void {
    const text = this.#shown()
    // A line end in a cell would shift the line numbers of the following rows.
    if (text !== '') this.#cells[this.#column] = text.replace(/\s+/g, ' ')
    this.#column++
  }

  #shown(): string {
    const value = this.#value
    if (this.#kind === 's') return this.#book.texts[Number(value)] ?? ''
    // The formula's value was not stored in the file; show the formula so that the row is not silently skipped.
    if (value === '' && this.#formula !== null && this.#kind === 'n') {
      return this.#formula === '' ? '=(…)' : `=${this.#formula}`
    }
    if (value !== '' && this.#isDate) return dateOf(Number(value))
    return this.#kind === 'inlineStr' || this.#kind === 'str' ? unescaped(value) : value
  }

  #endRow(): void {
    if (this.#cells.length === 0) return
    if (this.#hidden) this.#book.hiddenRows.add(this.#row)
    this.#rows.push({ row: this.#row, cells: this.#cells })
  }

  /** Returns the rows read so far; the first ones are held back until their width is known. */
  take(last: boolean): string {
    if (this.#width === null && !last && this.#rows.length < firstRows) return ''
    this.#width ??= Math.max(0, ...this.#rows.slice(0, firstRows).map(({ cells }) => cells.length))
    let out = ''
    for (const { row, cells } of this.#rows) {
      // Empty rows are written only if a row with a value follows.
      const gap = Math.max(0, Math.min(row, 2_000_000) - this.#written - 1)
      const length = Math.max(cells.length, this.#width)
      const texts = Array.from({ length }, (_, at) => csvCell(cells[at] ?? ''))
      out += `${'\n'.repeat(gap)}${texts.join(',')}\n`
      this.#written += gap + 1
    }
    this.#rows = []
    return out
  }
}

const firstRows = 100

/** Formats a spreadsheet date; what was typed, such as "may 1", is no longer in the file. */
function dateOf(days: number): string {
  const date = new Date(Math.round((days - 25_569) * 86_400_000))
  return Number.isNaN(date.getTime()) ? String(days) : date.toISOString().slice(0, 19)
}

const mostColumns = 16_384

/** `AB12` is in column 27, counted from 0. */
function columnOf(reference: string): number {
  let column = 0
  for (const sign of reference.replace(/\d+$/, '')) column = column * 26 + sign.charCodeAt(0) - 64
  if (column >= 1 && column <= mostColumns) return column - 1
  throw new Misuse(`expected a cell of a spreadsheet, got ${reference.slice(0, 20)}`)
}

function csvCell(text: string): string {
  return /[",;\t|]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
