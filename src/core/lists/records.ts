// Splits text into records, and counts their lines.

import { CsvError, parse } from 'csv-parse/sync'
import { Misuse } from '../../base/errors.ts'
import { cr, firstLineEnd, lastLineEnd, textEnd } from './encoding.ts'

export interface ListRecord {
  readonly cells: readonly string[]
  /** Number of the first line. A record spans several lines if a quoted cell contains line breaks. */
  readonly line: number
  /** Byte offsets of the record's text within the piece. */
  readonly start: number
  readonly end: number
}

interface Records {
  readonly records: ListRecord[]
  /** Lines with ambiguous quotes. */
  readonly broken: { readonly line: number; readonly reason: string; readonly content: string }[]
  readonly bytes: Buffer
}

// Maximum row length in bytes, longer than any row in a real export.
const longestRecord = 1024 * 1024

/** Delimiter used if each line is one query: a character that never occurs in a list. */
const noDelimiter = '\u001f'

const mark = Buffer.from('\ufeff')

/** An unclosed quote makes its own line invalid, but the rest of the file is still read. */
export class Cutter {
  readonly #delimiter: string
  readonly #sign: Buffer
  readonly #literal: boolean
  readonly #trims: boolean
  readonly #shown: string
  #rest: Buffer = Buffer.alloc(0)
  /** Number of bytes after which an unfinished quoted cell is parsed again. The number doubles with each attempt. */
  #patience = 0
  #line: number

  constructor(delimiter: string | null, shown: string, firstLine = 1) {
    this.#shown = shown
    this.#line = firstLine
    this.#literal = delimiter === null
    this.#trims = delimiter !== null && delimiter !== '\t'
    this.#delimiter = delimiter ?? noDelimiter
    this.#sign = Buffer.from(this.#delimiter)
  }

  /** Keeps an unfinished record until the next piece arrives. */
  push(piece: Buffer, last: boolean): Records {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    const found: Records = { records: [], broken: [], bytes }
    if (!last && bytes.length < this.#patience) {
      this.#rest = bytes
      return found
    }
    this.#patience = 0
    const end = last ? bytes.length : lastLineEnd(bytes)
    if (end === 0 && bytes.length > longestRecord) throw this.#tooLong()
    const at = this.#cut(bytes.subarray(0, end), last, found)
    this.#rest = bytes.subarray(at)
    return found
  }

  #cut(bytes: Buffer, last: boolean, found: Records): number {
    let at = 0
    let isValid = true
    while (at < bytes.length) {
      at = this.#cutUnquoted(bytes, at, found)
      if (at === bytes.length) return at
      // After an error, records are read one at a time, because the library would restart after each ambiguous line.
      isValid &&= this.#cutQuoted(bytes, at, found)
      if (isValid) return bytes.length
      const record = this.#recordAt(bytes, at)
      if (typeof record === 'object') {
        const { cells, end } = record
        found.records.push({ cells, line: this.#line, start: at, end: textEnd(bytes, end) })
        this.#line += linesOf(cells)
        at = end
        continue
      }
      if (record === neverClosed && !last && bytes.length - at <= longestRecord) {
        this.#patience = Math.min(2 * (bytes.length - at), longestRecord + 1)
        return at
      }
      const end = firstLineEnd(bytes, at)
      if (end < 0 && bytes.length - at > longestRecord) throw this.#tooLong()
      const next = end < 0 ? bytes.length : end
      this.#cutBroken(found, bytes.subarray(at, next), { start: at, reason: record })
      at = next
    }
    return at
  }

  /** Handles the lines before the first cell that starts with a quote. Quotes inside these lines are ordinary text. */
  #cutUnquoted(bytes: Buffer, at: number, found: Records): number {
    const opening = openingQuote(bytes, at, this.#sign)
    const end = opening < 0 ? bytes.length : at + lastLineEnd(bytes.subarray(at, opening))
    const lines = bytes.subarray(0, end)
    for (let from = at; from < end;) {
      const next = firstLineEnd(lines, from)
      const to = next < 0 ? end : next
      // Decodes each line separately, because a substring would keep the larger text in memory.
      const ends = textEnd(bytes, to)
      const cells = bytes.toString('utf8', from, ends).split(this.#delimiter)
      found.records.push({ cells, line: this.#line++, start: from, end: ends })
      from = to
    }
    return end
  }

  /** Handles all records from this offset on. If any record is ambiguous, handles no records and returns false. */
  #cutQuoted(bytes: Buffer, at: number, found: Records): boolean {
    const parsed = parseQuoted(bytes.subarray(at), this.#delimiter)
    if (parsed === null) return false
    let start = at
    for (const { cells, end: length } of parsed) {
      const end = at + length
      found.records.push({ cells, line: this.#line, start, end: textEnd(bytes, end) })
      this.#line += linesOf(cells)
      start = end
    }
    return true
  }

  /**
   * Returns the record at this offset, or the reason why its cells are ambiguous. If the bytes are `alone` on a line,
   * blanks around quoted cells and quotes inside other cells (`24" monitor,100`) are allowed.
   */
  #recordAt(bytes: Buffer, from: number, alone = false): CutRecord | string {
    const trims = alone && this.#trims
    const cells: string[] = []
    let line = lineAt(bytes, from)
    for (let at = from; ;) {
      const start = trims ? this.#blanksEnd(bytes, at) : at
      if (bytes[start] === quote) {
        const close = closingQuote(bytes, start + 1)
        if (close < 0) return neverClosed
        cells.push(bytes.toString('utf8', start + 1, close).replaceAll('""', '"'))
        at = trims ? this.#blanksEnd(bytes, close + 1) : close + 1
        if (at > line.end) line = lineAt(bytes, at)
      } else {
        const next = bytes.indexOf(this.#sign, at)
        const end = next < 0 ? line.text : Math.min(next, line.text)
        const inside = alone ? -1 : bytes.indexOf(quote, at)
        if (inside >= 0 && inside < end) return stray
        const cell = bytes.toString('utf8', at, end)
        cells.push(trims ? cell.trim() : cell)
        at = end
      }
      if (at >= line.text) return { cells, end: line.end }
      if (bytes.indexOf(this.#sign, at) !== at) {
        if (!alone || !this.#literal) return stray
        return { cells: [bytes.toString('utf8', from, line.text)], end: line.end }
      }
      at += this.#sign.length
    }
  }

  #blanksEnd(bytes: Buffer, from: number): number {
    let at = from
    while (blanks.includes(bytes[at]) && bytes[at] !== this.#sign[0]) at++
    return at
  }

  #cutBroken(
    found: Records,
    bytes: Buffer,
    { start, reason }: { readonly start: number; readonly reason: string },
  ): void {
    const line = this.#line++
    // In a concatenated file, a byte order mark may precede the quote of the first cell.
    const marked = bytes.subarray(0, mark.length).equals(mark)
    const alone = this.#recordAt(bytes, marked ? mark.length : 0, true)
    if (typeof alone === 'object') {
      const [first = '', ...others] = alone.cells
      const cells = marked ? [`\ufeff${first}`, ...others] : alone.cells
      found.records.push({ cells, line, start, end: start + textEnd(bytes, bytes.length) })
      return
    }
    const content = bytes.toString('utf8', 0, 2000).trim()
    found.broken.push({ line, reason: alone === neverClosed ? alone : reason, content })
  }

  #tooLong(): Misuse {
    return new Misuse(
      `${this.#shown}:${this.#line}: expected lines of a query list, got a line longer than ${longestRecord / 1024 / 1024} MiB; check that this is the right file`,
    )
  }
}

/** Returns null if the CSV has an error. */
function parseQuoted(bytes: Buffer, delimiter: string): readonly CutRecord[] | null {
  const found: CutRecord[] = []
  try {
    parse(bytes, {
      delimiter,
      relax_column_count: true,
      // The parser compares each character with every record delimiter, so only those that may occur are passed.
      record_delimiter: bytes.includes(cr) ? ['\r\n', '\n', '\r'] : ['\n'],
      on_record: (cells: string[], { bytes: end }) => {
        found.push({ cells, end })
        return null
      },
    })
    return found
  } catch (error) {
    if (error instanceof CsvError) return null
    throw error
  }
}

function linesOf(cells: readonly string[]): number {
  let lines = 1
  for (const cell of cells) {
    if (cell.includes('\n') || cell.includes('\r')) lines += cell.match(/\r\n|\n|\r/g)?.length ?? 0
  }
  return lines
}

const neverClosed = 'a quote that is never closed'
const stray = 'a stray quote'

const quote = 34
const blanks: readonly (number | undefined)[] = [32, 9]
const starts: readonly (number | undefined)[] = [undefined, 10, 13]

interface CutRecord {
  readonly cells: readonly string[]
  readonly end: number
}

function lineAt(bytes: Buffer, at: number): { readonly end: number; readonly text: number } {
  const next = firstLineEnd(bytes, at)
  const end = next < 0 ? bytes.length : next
  return { end, text: textEnd(bytes, end) }
}

/** Returns the offset of the closing quote, or -1 if there is none. */
function closingQuote(bytes: Buffer, from: number): number {
  let close = bytes.indexOf(quote, from)
  while (close >= 0 && bytes[close + 1] === quote) close = bytes.indexOf(quote, close + 2)
  return close
}

/** Returns the offset of the next quote at the start of a cell (or after a byte order mark), or -1. */
function openingQuote(bytes: Buffer, from: number, delimiter: Buffer): number {
  const sign = delimiter.at(-1)
  for (let at = bytes.indexOf(quote, from); at >= 0; at = bytes.indexOf(quote, at + 1)) {
    let before = at - 1
    while (blanks.includes(bytes[before]) && bytes[before] !== sign) before--
    if (bytes[before] === 0xbf && bytes[before - 1] === 0xbb && bytes[before - 2] === 0xef)
      before -= 3
    if (before < from || bytes[before] === sign || starts.includes(bytes[before])) return at
  }
  return -1
}
