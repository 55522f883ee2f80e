// Converts the text of a list, piece by piece, to queries and rejected lines.

import { Misuse } from '../../base/errors.ts'
import {
  type Columns,
  type Dialect,
  isTitle,
  plainName,
  readHeader,
  readMeaning,
  show,
} from './columns.ts'
import { isComment } from './foreign.ts'
import { mapColumns } from './mapping.ts'
import { Cutter, linesOf, type LineTexts } from './records.ts'
import { contentOf, type ListedQuery, type Rejection, type RowOptions, Rows } from './rows.ts'
import { type ColumnFindings, Survey } from './soft-columns.ts'
import type { ListOptions } from './trial.ts'
import { type DecimalSign, isNumber } from './values.ts'

/** A piece of a list: results of its lines, in order. */
export interface ListPiece {
  readonly queries: readonly ListedQuery[]
  readonly rejected: readonly Rejection[]
  /** Number of lines that contained queries. */
  readonly usable: number
  /** Last line number read. */
  readonly line: number
}

type RowReadOptions = Omit<RowOptions, 'columns' | 'verdict'> &
  ListOptions & { readonly decimal?: DecimalSign | undefined }

/** Options for reading a list, from a user or a schedule. */
export interface ReadOptions extends RowReadOptions {
  readonly encoding?: string | undefined
  /** Number of lines to skip at the start. */
  readonly skip?: number | undefined
  /** Table of a spreadsheet or archive to read. */
  readonly sheet?: string | undefined
  /** Cells per row, if flags on the command line name the columns. */
  readonly width?: number | undefined
}

// Places, languages and devices multiply, so a few lines may give very many queries.
const mostQueries = 5_000

const nameOrQuery = 'a column name at the start of a block, which may be a header or a query'

interface Found {
  readonly queries: ListedQuery[]
  readonly rejected: Rejection[]
  usable: number
}

function nothingYet(): Found {
  return { queries: [], rejected: [], usable: 0 }
}

interface Known {
  readonly shown: string
  readonly dialect: Dialect
  readonly verdict: ColumnFindings
  readonly hiddenRows?: ReadonlySet<number> | undefined
}

/** Converts the text of a list, piece by piece, to queries. */
export class Reader {
  readonly headersAgain: number[] = []
  readonly survey: Survey
  readonly #cutter: Cutter
  readonly #options: RowReadOptions
  readonly #known: Known
  readonly #headers: Headers
  #columns: Columns
  #rows: Rows
  #blankBefore = false
  #line = 0

  constructor(known: Known, options: RowReadOptions) {
    const { shown, dialect, verdict } = known
    const { columns, delimiter } = dialect
    this.#known = known
    this.#cutter = new Cutter(delimiter, shown, options.firstLine)
    this.#options = options
    this.#headers = new Headers(shown, dialect, options)
    this.#columns = columns
    this.#rows = new Rows({ ...options, columns, verdict })
    this.survey = new Survey(columns, { delimiter, decimal: options.decimal })
  }

  *read(piece: Buffer, last: boolean): Generator<ListPiece> {
    const { records, broken, texts } = this.#cutter.push(piece, last)
    const from = this.#known.dialect.headerLine ?? 0
    let found = nothingYet()
    for (const { cells, line } of records) {
      if (line > this.#line) this.#line = line
      const record = { cells, line, texts }
      if (line <= from || this.#isHeaderAgain(record, found)) continue
      this.#readRow(record, found)
      if (found.queries.length < mostQueries) continue
      yield { ...found, line: this.#line }
      found = nothingYet()
    }
    for (const { line, reason, content } of broken) {
      if (line > from) found.rejected.push({ line, reason, content: contentOf(content) })
    }
    yield { ...found, line: this.#line }
  }

  #readRow(record: RecordOfList, found: Found): void {
    const { cells, line } = record
    const hidden = this.#known.hiddenRows?.has(line) === true
    const comment = this.#options.comments === 'skip' && isComment(cells[0] ?? '')
    const row = hidden
      ? 'a hidden row of the spreadsheet'
      : comment
        ? 'a comment'
        : this.#rows.read(cells, line)
    this.#blankBefore = row === undefined
    if (row === undefined) return
    if (this.#columns === this.#known.dialect.columns) this.survey.look(cells)
    if (typeof row === 'string') {
      found.rejected.push({ line, reason: row, content: contentOf(textOf(record)) })
      return
    }
    found.usable++
    for (const query of row) found.queries.push(query)
  }

  /** True for a record without a query of its own: a header, or a possible one. */
  #isHeaderAgain(record: RecordOfList, found: Found): boolean {
    const { cells, line } = record
    const judgement = this.#headers.judge(cells, line, this.#blankBefore)
    if (judgement === 'row') return false
    this.#blankBefore = false
    if (judgement === 'either') {
      found.rejected.push({ line, reason: nameOrQuery, content: contentOf(textOf(record)) })
      return true
    }
    this.headersAgain.push(line)
    if (judgement !== this.#columns) {
      this.#columns = judgement
      const { verdict, dialect } = this.#known
      const none = { ignored: new Map(), decimals: new Map() }
      const own = judgement === dialect.columns ? verdict : none
      this.#rows = new Rows({ ...this.#options, columns: judgement, verdict: own })
    }
    return true
  }
}

interface RecordOfList {
  readonly cells: readonly string[]
  readonly line: number
  readonly texts: LineTexts
}

/** Text of the record as in the file. */
function textOf({ cells, line, texts }: RecordOfList): string {
  return texts.of(line, linesOf(cells))
}

interface Header {
  readonly header: readonly string[]
  readonly columns: Columns
}

/** A record further down: a row, one that may also be a header, or a header with its columns. */
type RowOrHeader = 'row' | 'either' | Columns

const mark = 0xfeff

/**
 * Detects further headers: exports may contain several blocks, and people concatenate files, each with its own header.
 */
class Headers {
  readonly #shown: string
  readonly #listOptions: ListOptions
  readonly #wanted: string | undefined
  readonly #known: Header[]
  readonly #names: ReadonlySet<string>
  #now: Header

  constructor(shown: string, { header, columns }: Header, options: ListOptions) {
    this.#shown = shown
    this.#listOptions = options
    this.#wanted = options.column
    this.#now = { header: withoutMark(header), columns }
    this.#known = header.length === 0 ? [] : [this.#now]
    this.#names = new Set(header.map((cell) => plainName(cell)).filter((name) => name !== ''))
  }

  /** Called for every record, so it must be fast: for nearly all of them, the first cell shows that they are rows. */
  judge(cells: readonly string[], line: number, blankBefore: boolean): RowOrHeader {
    const marked = cells[0]?.charCodeAt(0) === mark
    const begins = blankBefore || marked
    const bare = marked ? withoutMark(cells) : cells
    for (const known of this.#known) {
      if (bare[0] !== known.header[0] || !isSame(bare, known.header)) continue
      if (begins || bare.length > 1) return this.#begin(known)
    }
    if (!begins || this.#listOptions.header === false) return 'row'
    const { header, columns } = this.#now
    if (isTitle(header)) return isTitle(bare) ? columns : 'row'
    if (columns.width > 1) return this.#judgeNames(bare, line)
    // Below a blank line, a single word may be the query "keyword"; a byte order mark starts a new file.
    return marked && bare.length === 1 && this.#namesQueries(bare[0]) ? columns : 'row'
  }

  #begin(header: Header): Columns {
    this.#now = header
    return header.columns
  }

  #namesQueries(cell = ''): boolean {
    const { header, columns } = this.#now
    const name = plainName(cell)
    if (name !== '' && name === plainName(header[columns.query] ?? '')) return true
    return readMeaning(cell)?.role === 'query'
  }

  /** Switches columns if most cells are names; a row may well contain the word "keyword". */
  #judgeNames(cells: readonly string[], line: number): RowOrHeader {
    const filled = cells.filter((cell) => cell.trim() !== '')
    if (filled.length < 2 || filled.some(isNumber)) return 'row'
    if (!filled.some((cell) => this.#namesQueries(cell))) return 'row'
    const names = filled.filter(
      (cell) => readMeaning(cell) !== undefined || this.#names.has(plainName(cell)),
    )
    if (names.length <= filled.length / 2) {
      return this.#namesQueries(cells[this.#now.columns.query]) ? 'either' : 'row'
    }
    const reading = readHeader(cells, this.#wanted)
    if (reading.kind !== 'columns') throw this.#refuse(filled, line)
    const columns = mapColumns(reading.columns, cells, { ...this.#listOptions, shown: this.#shown })
    const header = { header: cells, columns }
    this.#known.push(header)
    return this.#begin(header)
  }

  #refuse(cells: readonly string[], line: number): Misuse {
    const wanted =
      this.#wanted === undefined ? 'one column of queries' : `a column ${show(this.#wanted)}`
    return new Misuse(
      `${this.#shown}:${line}: expected ${wanted} in the header of this block too, got ${cells.slice(0, 12).map(show).join(', ')}; put the block into a file of its own, or take out the blank line above it if it is a row`,
    )
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((cell, index) => cell === other[index])
}

function withoutMark(cells: readonly string[]): readonly string[] {
  const [first, ...others] = cells
  return first === undefined ? cells : [first.replace(/^\ufeff+/u, ''), ...others]
}
