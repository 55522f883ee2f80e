// Reads the sheets in an Excel workbook as CSV lines.

import { Misuse } from '../../base/errors.ts'
import { type Attributes, parseWhole, type Sheet, type SheetRows, type XmlReader } from './sheet.ts'
import type { Archive } from './zip.ts'

// Maximum size of the shared texts in bytes. All shared texts must be in memory, because any cell may refer to any
// text.
const mostTexts = 96 * 1024 * 1024

export async function xlsxSheets(archive: Archive): Promise<readonly Sheet[]> {
  const sheets = await sheetsOf(archive)
  const texts = await sharedTexts(archive)
  const formats = await numberFormats(archive)
  return sheets.map((sheet) => ({ ...sheet, reader: createReader(texts, formats) }))
}

async function sheetsOf(archive: Archive) {
  const targets = new Map<string, string>()
  await parseWhole(archive, 'xl/_rels/workbook.xml.rels', {
    open: (name, { Id = '', Target = '' }) => {
      if (name === 'Relationship') targets.set(Id, Target.replace(/^\/?(?:xl\/)?/, 'xl/'))
    },
  })
  const sheets: Omit<Sheet, 'reader'>[] = []
  await parseWhole(archive, 'xl/workbook.xml', {
    open: (name, attributes) => {
      if (name !== 'sheet') return
      // The prefix of the attribute depends on the program that wrote the file.
      const key = Object.keys(attributes).find((one) => one.endsWith(':id')) ?? ''
      const part = targets.get(attributes[key] ?? '') ?? ''
      const hidden = (attributes['state'] ?? 'visible') !== 'visible'
      sheets.push({ name: attributes['name'] ?? part, part, hidden })
    },
  })
  return sheets
}

/** Reads the shared texts. Cells in all sheets refer to them by number. */
async function sharedTexts(archive: Archive): Promise<readonly string[]> {
  const part = 'xl/sharedStrings.xml'
  if (!archive.names.includes(part)) return []
  if (archive.sizeOf(part) > mostTexts) {
    throw new Misuse(
      `expected a spreadsheet with at most ${mostTexts / 1024 / 1024} MiB of text, got more in ${archive.shown}; save the sheet as CSV`,
    )
  }
  const texts: string[] = []
  let text = ''
  let inText = false
  // Phonetic readings of Japanese characters are stored next to the text, but are not part of the text.
  let spoken = false
  await parseWhole(archive, part, {
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
  })
  return texts
}

/** Decodes characters that XML does not allow, such as `_x000D_`. */
function unescaped(text: string): string {
  return text.replace(/_x([\dA-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

type NumberFormat = (value: string) => string

/** Formats that every workbook has, by id. */
const knownFormats = { 1: '0', 2: '0.00', 3: '#,##0', 4: '#,##0.00', 9: '0%', 10: '0.00%' }

/** Ids of the date and time formats that every workbook has: 14 to 22, 27 to 36, 45 to 47 and 50 to 58. */
const dateFormats = /^(?:1[4-9]|2[0-27-9]|3[0-6]|4[5-7]|5[0-8])$/

async function numberFormats(archive: Archive): Promise<readonly NumberFormat[]> {
  const part = 'xl/styles.xml'
  if (!archive.names.includes(part)) return []
  const codes = new Map<string, string>(Object.entries(knownFormats))
  const formats: NumberFormat[] = []
  let inCells = false
  const open = (name: string, { numFmtId = '', formatCode = '' }: Attributes): void => {
    if (name === 'cellXfs') inCells = true
    if (name === 'numFmt') codes.set(numFmtId, formatCode)
    if (name !== 'xf' || !inCells) return
    formats.push(formatOf(codes.get(numFmtId) ?? (dateFormats.test(numFmtId) ? 'd' : '')))
  }
  const close = (name: string): void => {
    if (name === 'cellXfs') inCells = false
  }
  await parseWhole(archive, part, { open, close })
  return formats
}

/** Builds a number format without thousands separators. */
function formatOf(code: string): NumberFormat {
  if (showsDate(code)) return (value) => dateOf(Number(value))
  const [, zeros, decimals = '', percent] = /^(?:#,##)?(0+)(?:\.(0+))?(%?)$/.exec(code) ?? []
  if (zeros === undefined) return asTyped
  return (value) => {
    const number = Number(value) * (percent === '%' ? 100 : 1)
    if (Number.isNaN(number)) return value
    const [whole = '', part] = Math.abs(number).toFixed(decimals.length).split('.')
    const padded = whole.padStart(zeros.length, '0') + (part === undefined ? '' : `.${part}`)
    return `${number < 0 ? '-' : ''}${padded}${percent}`
  }
}

/** Keeps 15 digits, as spreadsheets do. For example, 0.3 may be stored as 0.30000000000000004. */
function asTyped(value: string): string {
  return value.length > 16 ? String(Number(Number(value).toPrecision(15))) : value
}

/** True if a number format contains part of a date or time. Quoted text and color codes are ignored. */
function showsDate(format: string): boolean {
  return /[dmyhs]/i.test(format.replace(/"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|general/gi, ''))
}

interface Cell {
  readonly kind: string
  readonly format: NumberFormat
  value: string
  formula: string | null
}

function createReader(texts: readonly string[], formats: readonly NumberFormat[]) {
  return (rows: SheetRows): XmlReader => {
    let row = 0
    let isHidden = false
    let cells: (string | undefined)[] = []
    let column = 0
    let cell: Cell = { kind: 'n', format: asTyped, value: '', formula: null }
    let within = ''
    return {
      open(name, { r, t = 'n', s, hidden }) {
        if (name === 'row') {
          row = r === undefined ? row + 1 : Number(r)
          isHidden = hidden === '1' || hidden === 'true'
          cells = []
          column = 0
        } else if (name === 'c') {
          column = r === undefined ? column : columnOf(r)
          const format = formats[Number(s ?? 0)] ?? asTyped
          cell = { kind: t, format, value: '', formula: null }
        } else if (name === 'f') cell.formula = ''
        within = name
      },
      text(text) {
        if (within === 'v' || within === 't') cell.value += text
        if (within === 'f') cell.formula += text
      },
      close(name) {
        within = ''
        if (name === 'c') {
          const text = shownIn(cell, texts)
          if (text !== '') cells[column] = text
          column++
        } else if (name === 'row' && cells.length > 0) rows.add(row, cells, isHidden)
      },
    }
  }
}

function shownIn({ kind, format, value, formula }: Cell, texts: readonly string[]): string {
  if (kind === 's') return texts[Number(value)] ?? ''
  // A formula without a stored value is shown as text, so that its row is not silently skipped.
  if (value === '' && formula !== null && kind === 'n') {
    return formula === '' ? '=(…)' : `=${formula}`
  }
  if (kind === 'b') return value === '1' ? 'TRUE' : 'FALSE'
  if (value !== '' && kind === 'n') return format(value)
  return kind === 'inlineStr' || kind === 'str' ? unescaped(value) : value
}

/** Formats a spreadsheet date. The text that was typed, such as "may 1", is not in the file. */
export function dateOf(days: number): string {
  const date = new Date(Math.round((days - 25_569) * 86_400_000))
  return Number.isNaN(date.getTime()) ? String(days) : date.toISOString().slice(0, 19)
}

const mostColumns = 16_384

/** Returns the 0-based column of a cell reference: `AB12` is in column 27. */
function columnOf(reference: string): number {
  let column = 0
  for (const sign of reference.replace(/\d+$/, '')) column = column * 26 + sign.charCodeAt(0) - 64
  if (column >= 1 && column <= mostColumns) return column - 1
  throw new Misuse(`expected a cell reference like B7, got ${reference.slice(0, 20)}`)
}
