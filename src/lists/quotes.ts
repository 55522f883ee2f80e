import { firstLineEnd, textEnd } from './line-ends.ts'

export const neverClosed = 'a quote that is never closed'

const quote = 34
const blanks: readonly (number | undefined)[] = [32, 9]
const starts: readonly (number | undefined)[] = [undefined, 10, 13]

/** Where the next cell begins with a quote, below 0 when none does; a byte order mark before it does not count. */
export function openingQuote(bytes: Buffer, from: number, delimiter: string): number {
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
 * The cells of one line, or the reason why they cannot be told apart. Only a cell that begins with a quote is quoted:
 * `24" monitor,100` holds two cells.
 */
export function cutLine(
  text: string,
  delimiter: string,
  trims: boolean,
): readonly string[] | string {
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
    if (text[at] !== delimiter) return 'a stray quote'
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

/** The lines of a piece as they stand in the file, asked for in their order. */
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
