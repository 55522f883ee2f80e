// Splits text into records and numbers their lines.

import { CsvError, type Options, parse } from 'csv-parse/sync'
import { Misuse } from '../../base/errors.ts'
import { cr, firstLineEnd, lastLineEnd, lf, textEnd } from './encoding.ts'

/** Records of a piece of a file, each with its first line number. */
interface Records {
  readonly cells: (readonly string[])[]
  readonly lines: number[]
  readonly broken: Broken[]
  readonly texts: LineTexts
}

/** A line whose quotes are ambiguous. */
interface Broken {
  readonly line: number
  readonly reason: string
  readonly content: string
}

// Longer than any row of a real export; longer records are not queries.
const longestRecord = 1024 * 1024

/** Represents "one query per line": a character that never occurs in a list. */
const noDelimiter = '\u001f'

const mark = Buffer.from('\ufeff')

/** Splits UTF-8 text into records; an unclosed quote rejects its own line, not the rest of the file. */
export class Cutter {
  readonly #options: Options & { readonly delimiter: string }
  readonly #delimiter: Buffer
  readonly #literal: boolean
  readonly #trims: boolean
  readonly #shown: string
  #rest: Buffer = Buffer.alloc(0)
  /** An unfinished quoted cell is parsed again once its length has doubled. */
  #patience = 0
  #line: number

  constructor(delimiter: string | null, shown: string, firstLine = 1) {
    this.#shown = shown
    this.#line = firstLine
    this.#literal = delimiter === null
    this.#trims = delimiter !== '\t'
    this.#delimiter = Buffer.from(delimiter ?? noDelimiter)
    this.#options = {
      delimiter: delimiter ?? noDelimiter,
      relax_column_count: true,
    }
  }

  /** Returns the complete records; an unfinished one waits for the next piece. */
  push(piece: Buffer, last: boolean): Records {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    const texts = new LineTexts(bytes, this.#line)
    const found: Records = { cells: [], lines: [], broken: [], texts }
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
    let whole = true
    while (at < bytes.length) {
      at = this.#cutUnquoted(bytes, at, found)
      if (at === bytes.length) return at
      whole &&= this.#cutWhole(at === 0 ? bytes : bytes.subarray(at), found)
      if (whole) return bytes.length
      // A piece with an error is split record by record, because the parser would start over after each error.
      const record = recordAt(bytes, at, this.#delimiter)
      if (typeof record === 'object') {
        this.#keep(record.cells, found)
        at = record.end
        continue
      }
      if (record === neverClosed && !last && bytes.length - at <= longestRecord) {
        this.#patience = Math.min(2 * (bytes.length - at), longestRecord + 1)
        return at
      }
      const end = firstLineEnd(bytes, at)
      if (end < 0 && bytes.length - at > longestRecord) throw this.#tooLong()
      this.#cutBroken(bytes.subarray(at, end < 0 ? bytes.length : end), record, found)
      at = end < 0 ? bytes.length : end
    }
    return at
  }

  #keep(cells: readonly string[], found: Records): void {
    found.cells.push(cells)
    found.lines.push(this.#line)
    this.#line += linesOf(cells)
  }

  /** Handles the lines before the first cell that starts with a quote; elsewhere, a quote is an ordinary character. */
  #cutUnquoted(bytes: Buffer, at: number, found: Records): number {
    const opening = openingQuote(bytes, at, this.#options.delimiter)
    const end = opening < 0 ? bytes.length : at + lastLineEnd(bytes.subarray(at, opening))
    this.#cutPlain(bytes.subarray(at, end), found)
    return end
  }

  #cutWhole(part: Buffer, found: Records): boolean {
    const records = attempt(part, this.#optionsFor(part))
    if (typeof records === 'string') return false
    const wraps = countLines(part) > records.length
    for (const cells of records) {
      found.cells.push(cells)
      found.lines.push(this.#line)
      this.#line += wraps ? linesOf(cells) : 1
    }
    return true
  }

  /**
   * Without quotes, every line end ends a record, and using the parser would take most of the time of reading a list.
   */
  #cutPlain(part: Buffer, found: Records): void {
    const { delimiter } = this.#options
    for (let at = 0; at < part.length;) {
      const end = firstLineEnd(part, at)
      const next = end < 0 ? part.length : end
      // Decode line by line, because a substring of a larger text would keep all of it in memory.
      found.cells.push(part.toString('utf8', at, textEnd(part, next)).split(delimiter))
      found.lines.push(this.#line++)
      at = next
    }
  }

  /** The parser tries every record delimiter at every character, so pass only those that occur. */
  #optionsFor(part: Buffer): Options {
    const ends = part.includes(cr) ? ['\r\n', '\n', '\r'] : ['\n']
    return { ...this.#options, record_delimiter: ends }
  }

  #cutBroken(line: Buffer, reason: string, found: Records): void {
    const number = this.#line++
    // In a concatenated file, the byte order mark precedes the quote of the first cell.
    const marked = line.subarray(0, mark.length).equals(mark)
    const saved = this.#save(marked ? line.subarray(mark.length) : line)
    if (typeof saved === 'object') {
      found.cells.push(marked ? [`\ufeff${saved[0] ?? ''}`, ...saved.slice(1)] : saved)
      found.lines.push(number)
      return
    }
    const content = line.toString('utf8', 0, 2000).trim()
    found.broken.push({
      line: number,
      reason: saved === neverClosed ? neverClosed : reason,
      content,
    })
  }

  /** Splits a line that can be read in only one way: with blanks around quoted cells, or quotes in a plain list. */
  #save(line: Buffer): readonly string[] | string | undefined {
    if (!this.#literal) {
      const text = line.toString('utf8', 0, textEnd(line, line.length))
      return cutLine(text, this.#options.delimiter, this.#trims)
    }
    if (line[0] === quote && line.lastIndexOf(quote) === 0) return neverClosed
    const records = attempt(line, { ...this.#optionsFor(line), relax_quotes: true })
    if (typeof records === 'string') return records === 'CSV_QUOTE_NOT_CLOSED' ? neverClosed : ''
    return records.length === 1 ? records[0] : undefined
  }

  #tooLong(): Misuse {
    return new Misuse(
      `${this.#shown}:${this.#line}: expected lines of a query list, got one of more than ${longestRecord / 1024 / 1024} MiB; is this the right file?`,
    )
  }
}

/** Returns the records, or the code of the first error. */
function attempt(bytes: Buffer, options: Options): string[][] | string {
  try {
    return parse(bytes, options)
  } catch (error) {
    if (error instanceof CsvError) return error.code
    throw error
  }
}

/** Counts the lines of a record: one, plus one per line end in its quoted cells. */
export function linesOf(cells: readonly string[]): number {
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

/**
 * Returns the record that starts here and where it ends, or why its cells are ambiguous; follows the parser's rules.
 */
function recordAt(
  bytes: Buffer,
  from: number,
  delimiter: Buffer,
): { readonly cells: readonly string[]; readonly end: number } | string {
  const cells: string[] = []
  let line = lineAt(bytes, from)
  for (let at = from; ;) {
    if (bytes[at] === quote) {
      const close = closingQuote(bytes, at + 1)
      if (close < 0) return neverClosed
      cells.push(bytes.toString('utf8', at + 1, close).replaceAll('""', '"'))
      at = close + 1
      if (at > line.end) line = lineAt(bytes, at)
    } else {
      const found = bytes.subarray(at, line.text).indexOf(delimiter)
      const end = found < 0 ? line.text : at + found
      if (bytes.subarray(at, end).includes(quote)) return stray
      cells.push(bytes.toString('utf8', at, end))
      at = end
    }
    if (at >= line.text) return { cells, end: line.end }
    if (!bytes.subarray(at, at + delimiter.length).equals(delimiter)) return stray
    at += delimiter.length
  }
}

function lineAt(bytes: Buffer, at: number): { readonly end: number; readonly text: number } {
  const next = firstLineEnd(bytes, at)
  const end = next < 0 ? bytes.length : next
  return { end, text: textEnd(bytes, end) }
}

/** Skips doubled quotes; negative if there is no closing quote. */
function closingQuote(bytes: Buffer, from: number): number {
  let close = bytes.indexOf(quote, from)
  while (close >= 0 && bytes[close + 1] === quote) close = bytes.indexOf(quote, close + 2)
  return close
}

/** Finds the next cell that starts with a quote, ignoring a byte order mark before it; negative if there is none. */
function openingQuote(bytes: Buffer, from: number, delimiter: string): number {
  const sign = Buffer.from(delimiter).at(-1)
  for (let at = bytes.indexOf(quote, from); at >= 0; at = bytes.indexOf(quote, at + 1)) {
    let before = at - 1
    while (blanks.includes(bytes[before]) && bytes[before] !== sign) before--
    if (bytes[before] === 0xbf && bytes[before - 1] === 0xbb && bytes[before - 2] === 0xef)
      before -= 3
    if (before < from || bytes[before] === sign || starts.includes(bytes[before])) return at
  }
  return -1
}

/**
 * Cells of one line, or the reason why they are ambiguous. Only a cell that starts with a quote is quoted: `24"
 * monitor,100` has two cells.
 */
function cutLine(text: string, delimiter: string, trims: boolean): readonly string[] | string {
  const opens = trims ? /\s*"/y : /"/y
  const cells: string[] = []
  for (let at = 0; ; at++) {
    opens.lastIndex = at
    if (opens.test(text)) {
      const cell = quotedCell(text, opens.lastIndex)
      if (cell === null) return neverClosed
      cells.push(cell.value)
      at = trims ? blanksEnd(text, cell.end, delimiter) : cell.end
    } else {
      const end = text.indexOf(delimiter, at)
      const cell = text.slice(at, end < 0 ? text.length : end)
      cells.push(trims ? cell.trim() : cell)
      at = end < 0 ? text.length : end
    }
    if (at >= text.length) return cells
    if (text[at] !== delimiter) return stray
  }
}

function blanksEnd(text: string, from: number, delimiter: string): number {
  let at = from
  while (text[at] !== delimiter && /\s/.test(text[at] ?? '')) at++
  return at
}

function quotedCell(text: string, from: number): { value: string; end: number } | null {
  let value = ''
  for (let at = from; ;) {
    const close = text.indexOf('"', at)
    if (close < 0) return null
    value += text.slice(at, close)
    if (text[close + 1] !== '"') return { value, end: close + 1 }
    value += '"'
    at = close + 2
  }
}

/** Lines of a piece as in the file; must be requested in order. */
export class LineTexts {
  readonly #bytes: Buffer
  readonly #first: number
  #line: number
  #at = 0

  constructor(bytes: Buffer, line: number) {
    this.#bytes = bytes
    this.#first = line
    this.#line = line
  }

  of(line: number, lines: number): string {
    if (line < this.#line) {
      this.#line = this.#first
      this.#at = 0
    }
    while (this.#line < line) this.#advance()
    const from = this.#at
    while (this.#line < line + lines) this.#advance()
    return this.#bytes.toString('utf8', from, Math.max(from, textEnd(this.#bytes, this.#at)))
  }

  #advance(): void {
    const end = firstLineEnd(this.#bytes, this.#at)
    this.#at = end < 0 ? this.#bytes.length : end
    this.#line++
  }
}

/** Removes the first lines of a text but keeps their line ends, so that line numbers do not change. */
export class LineSkipper {
  #left: number
  /** True if the previous piece ended in the middle of a CRLF. */
  #halfEnd = false

  constructor(lines = 0) {
    this.#left = lines
  }

  pass(text: Buffer): Buffer {
    let at = this.#halfEnd && text[0] === lf ? 1 : 0
    let ended = 0
    if (text.length > 0) this.#halfEnd = false
    while (this.#left > 0 && at < text.length) {
      const end = firstLineEnd(text, at)
      if (end < 0) return Buffer.alloc(ended, '\n')
      at = end
      ended++
      this.#left--
    }
    if (ended > 0 && at === text.length) this.#halfEnd = text[at - 1] === cr
    if (ended === 0) return text.subarray(at)
    return Buffer.concat([Buffer.alloc(ended, '\n'), text.subarray(at)])
  }
}

/** Text of a list without its first lines. */
export async function* skipLines(
  pieces: AsyncIterable<Buffer>,
  lines: number | undefined,
): AsyncGenerator<Buffer> {
  const skipper = new LineSkipper(lines)
  for await (const piece of pieces) yield skipper.pass(piece)
}

/** Counts the lines of a piece, including an unterminated last one. */
function countLines(bytes: Buffer): number {
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === lf || (byte === cr && bytes[at + 1] !== lf)) count++
  }
  const last = bytes[bytes.length - 1]
  return last === undefined || last === lf || last === cr ? count : count + 1
}
