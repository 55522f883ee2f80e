import { Misuse } from '../shared/errors.ts'
import { Headers } from './repeated-headers.ts'
import type { Columns } from './columns.ts'
import { findDialect, type Dialect } from './dialect.ts'
import { decode } from './decode.ts'
import { detectEncoding, type Encoding } from './encoding.ts'
import { Cutter } from './records.ts'
import type { Defaults } from './requests.ts'
import { contentOf, Rows, type ListedQuery, type Rejection } from './rows.ts'
import { peek, type Source } from './source.ts'

export interface ReadOptions {
  readonly encoding?: string | undefined
  readonly delimiter?: string | undefined
  readonly column?: string | undefined
  readonly matchTypes: 'keep' | 'strip'
  readonly defaults: Defaults
}

/** What was found on the first lines of a list. */
export interface Heading {
  readonly encoding: Encoding
  readonly dialect: Dialect
}

/** A piece of a list: what its lines gave, in their order. */
export interface ListPiece {
  readonly queries: readonly ListedQuery[]
  readonly rejected: readonly Rejection[]
  /** Lines that gave queries. */
  readonly usable: number
  /** Number of the last line read. */
  readonly line: number
}

export interface OpenList {
  readonly heading: Heading
  readonly pieces: AsyncIterable<ListPiece>
  /** Headers found further down, where blocks or joined files begin. */
  readonly headersAgain: readonly number[]
}

const headSize = 256 * 1024
// Places, languages and devices multiply out: a few lines may give very many queries.
const mostQueries = 5_000

const nameOrQuery = 'the name of a column where a block begins: a header or a query'

/** Opens a list: what its beginning leaves unclear is refused before anything is read for good. */
export async function openList(source: Source, options: ReadOptions): Promise<OpenList> {
  const { head, whole, all } = await peek(source.chunks, headSize)
  if (head.length === 0) throw nothingIn(source.shown, true)
  const encoding = await detectEncoding(head, whole, options.encoding)
  const text = await decodeHead({ head, whole }, encoding, source.shown)
  if (encoding.how === 'guessed') throw guessed(source.shown, encoding, text)
  if (text.toString().trim() === '') throw nothingIn(source.shown, whole)
  const dialect = findDialect(text, source.shown, options)
  const reader = new Reader(source.shown, dialect, options)
  return {
    heading: { encoding, dialect },
    headersAgain: reader.headersAgain,
    pieces: readAll(source, decode(all, encoding, { shown: source.shown }), reader),
  }
}

function nothingIn(shown: string, whole: boolean): Misuse {
  const found = whole
    ? 'an empty file; put one query on each line'
    : `blank lines only in its first ${headSize / 1024} KiB; take them out`
  return new Misuse(`expected queries in ${shown}, got ${found}`)
}

/** The whole lines among the first bytes. */
async function decodeHead(
  { head, whole }: { head: Buffer; whole: boolean },
  encoding: Encoding,
  shown: string,
): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of decode(once(head), encoding, { shown, toTheEnd: whole }))
    pieces.push(piece)
  const text = Buffer.concat(pieces)
  if (whole) return text
  const end = Math.max(text.lastIndexOf(10), text.lastIndexOf(13)) + 1
  return end === 0 ? text : text.subarray(0, end)
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

function guessed(shown: string, { label }: Encoding, text: Buffer): Misuse {
  const rows = text.toString().split(/\r\n|\n|\r/)
  // Lines with other letters than English ones show whether the guess is right.
  // eslint-disable-next-line no-control-regex -- ASCII is meant as a whole
  const telling = rows.filter((row) => /[^\u0000-\u007f]/.test(row)).slice(0, 3)
  const sample = telling.map((row) => `  ${row.slice(0, 100)}`).join('\n')
  return new Misuse(
    `expected ${shown} to be UTF-8 or UTF-16, got other bytes, perhaps ${label}; if these lines read right, type --encoding ${label}, else another --encoding:\n${sample}`,
  )
}

async function* readAll(
  source: Source,
  pieces: AsyncIterable<Buffer>,
  reader: Reader,
): AsyncGenerator<ListPiece> {
  for await (const piece of pieces) yield* reader.read(piece, false)
  yield* reader.read(Buffer.alloc(0), true)
  await source.check()
}

interface Found {
  readonly queries: ListedQuery[]
  readonly rejected: Rejection[]
  usable: number
}

function nothingYet(): Found {
  return { queries: [], rejected: [], usable: 0 }
}

class Reader {
  readonly headersAgain: number[] = []
  readonly #cutter: Cutter
  readonly #options: ReadOptions
  readonly #dialect: Dialect
  readonly #headers: Headers
  #columns: Columns
  #rows: Rows
  #blankBefore = false
  #line = 0

  constructor(shown: string, dialect: Dialect, options: ReadOptions) {
    this.#cutter = new Cutter(dialect.delimiter, shown)
    this.#dialect = dialect
    this.#options = options
    this.#headers = new Headers(shown, dialect, options.column)
    this.#columns = dialect.columns
    this.#rows = new Rows({ ...options, columns: dialect.columns })
  }

  *read(piece: Buffer, last: boolean): Generator<ListPiece> {
    const records = this.#cutter.push(piece, last)
    const from = this.#dialect.headerLine ?? 0
    let found = nothingYet()
    for (let index = 0; index < records.cells.length; index++) {
      const cells = records.cells[index] ?? []
      const line = records.lines[index] ?? 0
      if (line > this.#line) this.#line = line
      if (line <= from || this.#isHeaderAgain(cells, line, found)) continue
      this.#readRow(cells, line, found)
      if (found.queries.length < mostQueries) continue
      yield { ...found, line: this.#line }
      found = nothingYet()
    }
    for (const { line, reason, content } of records.broken) {
      if (line > from) found.rejected.push({ line, reason, content: contentOf(content) })
    }
    yield { ...found, line: this.#line }
  }

  #readRow(cells: readonly string[], line: number, found: Found): void {
    const row = this.#rows.read(cells, line)
    this.#blankBefore = row === undefined
    if (row === undefined) return
    if (isRejection(row)) {
      found.rejected.push(row)
      return
    }
    found.usable++
    for (const query of row) found.queries.push(query)
  }

  /** True for a record that holds no query of its own: a header, or what may be one. */
  #isHeaderAgain(cells: readonly string[], line: number, found: Found): boolean {
    const judgement = this.#headers.judge(cells, line, this.#blankBefore)
    if (judgement === 'row') return false
    this.#blankBefore = false
    if (judgement === 'either') {
      found.rejected.push({ line, reason: nameOrQuery, content: contentOf(cells.join(',')) })
      return true
    }
    this.headersAgain.push(line)
    if (judgement !== this.#columns) {
      this.#columns = judgement
      this.#rows = new Rows({ ...this.#options, columns: judgement })
    }
    return true
  }
}

function isRejection(found: readonly ListedQuery[] | Rejection): found is Rejection {
  return !Array.isArray(found)
}
