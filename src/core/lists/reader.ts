// Converts the text of a list, piece by piece, to queries and rejected lines.

import { Misuse } from '../../base/errors.ts'
import {
  type Columns,
  type Dialect,
  isQueryName,
  isTitle,
  mapColumns,
  plainName,
  readHeader,
  readMeaning,
  show,
} from './columns.ts'
import { isComment } from './foreign.ts'
import type { ReadOptions } from './options.ts'
import { Cutter, type ListRecord } from './records.ts'
import { contentOf, type ListedQuery, type Rejection, Rows } from './rows.ts'
import { type ColumnFindings, Survey } from './soft-columns.ts'
import type { Source } from './source.ts'
import { filledCells, isNumber } from './values.ts'

interface FoundRows {
  readonly queries: ListedQuery[]
  readonly rejected: Rejection[]
  /** Number of lines that contained queries. */
  usable: number
}

export interface ListPiece extends Readonly<FoundRows> {
  /** Number of the last line that was read. */
  readonly line: number
}

// A piece ends at this number, because places, languages and devices may multiply a few lines to very many queries.
const mostQueries = 5_000

interface Findings {
  readonly dialect: Dialect
  readonly verdict: ColumnFindings
}

export class Reader {
  readonly headersAgain: number[] = []
  readonly survey: Survey
  readonly #cutter: Cutter
  readonly #options: ReadOptions
  readonly #known: Findings
  readonly #headers: Headers
  readonly #hiddenRows: ReadonlySet<number> | undefined
  #columns: Columns
  #rows: Rows
  #blankBefore = false
  #line = 0

  constructor({ shown, hiddenRows }: Source, known: Findings, options: ReadOptions) {
    const { dialect, verdict } = known
    this.#known = known
    this.#cutter = new Cutter(dialect.delimiter, shown, options.firstLine)
    this.#options = options
    this.#headers = new Headers(shown, dialect, options)
    this.#hiddenRows = hiddenRows
    this.#columns = dialect.columns
    this.#rows = new Rows(dialect.columns, verdict, options)
    this.survey = new Survey(dialect, options)
  }

  *read(piece: Buffer, last: boolean): Generator<ListPiece> {
    const { records, broken, bytes } = this.#cutter.push(piece, last)
    const from = this.#known.dialect.headerLine ?? 0
    let found: FoundRows = { queries: [], rejected: [], usable: 0 }
    for (const record of records) {
      const { line } = record
      if (line > this.#line) this.#line = line
      if (line <= from) continue
      const reason = this.#readRecord(record, found)
      if (reason !== undefined) {
        const content = contentOf(bytes.toString('utf8', record.start, record.end))
        found.rejected.push({ line, reason, content })
      }
      if (found.queries.length < mostQueries) continue
      yield { ...found, line: this.#line }
      found = { queries: [], rejected: [], usable: 0 }
    }
    for (const { line, reason, content } of broken) {
      if (line > from) found.rejected.push({ line, reason, content: contentOf(content) })
    }
    yield { ...found, line: this.#line }
  }

  /** Returns the reason if the record is rejected. */
  #readRecord({ cells, line }: ListRecord, found: FoundRows): string | undefined {
    const judgement = this.#headers.judge(cells, this.#blankBefore, line)
    if (judgement !== 'row') {
      this.#blankBefore = false
      if (judgement === 'either')
        return 'a column name at the start of a block, which may be a header or a query'
      this.#beginBlock(judgement, line)
      return undefined
    }
    const row = this.#rowOf(cells, line)
    this.#blankBefore = row === undefined
    if (row === undefined) return undefined
    if (this.#columns === this.#known.dialect.columns) this.survey.look(cells)
    if (typeof row === 'string') return row
    found.usable++
    for (const query of row) found.queries.push(query)
    return undefined
  }

  #rowOf(cells: readonly string[], line: number): ReturnType<Rows['read']> {
    if (this.#hiddenRows?.has(line) === true) return 'a hidden row in the spreadsheet'
    const skipped = this.#options.comments === 'skip' && isComment(cells[0] ?? '')
    return skipped ? 'a comment' : this.#rows.read(cells, line)
  }

  #beginBlock(columns: Columns, line: number): void {
    this.headersAgain.push(line)
    if (columns === this.#columns) return
    this.#columns = columns
    const { verdict, dialect } = this.#known
    const none = { ignored: new Map(), decimals: new Map() }
    const own = columns === dialect.columns ? verdict : none
    this.#rows = new Rows(columns, own, this.#options)
  }
}

interface Header {
  readonly header: readonly string[]
  readonly columns: Columns
}

/** A record is a row, may be a row or a header, or is a header with these columns. */
type RowOrHeader = 'row' | 'either' | Columns

const mark = 0xfeff

/** Detects further headers, which occur in exports with several blocks and in concatenated files. */
class Headers {
  readonly #shown: string
  readonly #options: ReadOptions
  readonly #known: Header[]
  readonly #names: ReadonlySet<string>
  #now: Header

  constructor(shown: string, { header, columns }: Header, options: ReadOptions) {
    this.#shown = shown
    this.#options = options
    this.#now = { header: withoutMark(header), columns }
    this.#known = header.length === 0 ? [] : [this.#now]
    this.#names = new Set(header.map(plainName).filter((name) => name !== ''))
  }

  /** Must be fast, because it is called for every record. The first cell identifies nearly all rows. */
  judge(cells: readonly string[], blankBefore: boolean, line: number): RowOrHeader {
    const marked = cells[0]?.charCodeAt(0) === mark
    const begins = blankBefore || marked
    const bare = marked ? withoutMark(cells) : cells
    for (const known of this.#known) {
      if (bare[0] !== known.header[0] || !isSame(bare, known.header)) continue
      if (begins || bare.length > 1) return this.#begin(known)
    }
    if (!begins || this.#options.header === false) return 'row'
    const { header, columns } = this.#now
    if (isTitle(header)) return isTitle(bare) ? columns : 'row'
    if (columns.width > 1) return this.#judgeNames(bare, line)
    // Below a blank line, the word "keyword" may be a query. A byte order mark starts a new file, and so a header.
    return marked && bare.length === 1 && this.#namesQueries(bare[0]) ? columns : 'row'
  }

  #begin(header: Header): Columns {
    this.#now = header
    return header.columns
  }

  #namesQueries(cell = ''): boolean {
    const { header, columns } = this.#now
    const name = plainName(cell)
    return (name !== '' && name === plainName(header[columns.query] ?? '')) || isQueryName(cell)
  }

  /** Most cells must be column names, because a row may contain the word "keyword". */
  #judgeNames(cells: readonly string[], line: number): RowOrHeader {
    const filled = filledCells(cells)
    if (filled.length < 2 || filled.some(isNumber)) return 'row'
    if (!filled.some((cell) => this.#namesQueries(cell))) return 'row'
    const names = filled.filter(
      (cell) => readMeaning(cell) !== undefined || this.#names.has(plainName(cell)),
    )
    if (names.length <= filled.length / 2) {
      return this.#namesQueries(cells[this.#now.columns.query]) ? 'either' : 'row'
    }
    const { column } = this.#options
    const reading = readHeader(cells, column)
    if (reading.kind !== 'columns') {
      const wanted = column === undefined ? 'one query column' : `a column ${show(column)}`
      throw new Misuse(
        `${this.#shown}:${line}: expected ${wanted} in the header of this block too, got ${filled.slice(0, 12).map(show).join(', ')}; move the block to a separate file, or remove the blank line above this line if it is a row`,
      )
    }
    const { map } = this.#options
    const columns = mapColumns(reading.columns, cells, { shown: this.#shown, map })
    const header = { header: cells, columns }
    this.#known.push(header)
    return this.#begin(header)
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((cell, index) => cell === other[index])
}

function withoutMark(cells: readonly string[]): readonly string[] {
  const [first, ...others] = cells
  return first === undefined ? cells : [first.replace(/^\ufeff+/u, ''), ...others]
}
