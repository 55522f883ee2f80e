import type { Columns } from './columns.ts'
import type { Dialect } from './columns.ts'
import { Cutter, linesOf } from './records.ts'
import { Headers } from './repeated-headers.ts'
import { contentOf, Rows, type ListedQuery, type Rejection, type RowOptions } from './rows.ts'
import { Survey, type ColumnFindings } from './soft.ts'
import type { DecimalSign } from './numbers.ts'
import type { LineTexts } from './quotes.ts'
import type { Wishes } from './trial.ts'

/** A piece of a list: what its lines gave, in their order. */
export interface ListPiece {
  readonly queries: readonly ListedQuery[]
  readonly rejected: readonly Rejection[]
  /** Lines that gave queries. */
  readonly usable: number
  /** Number of the last line read. */
  readonly line: number
}

/** How the rows of a list are read. */
export type RowWishes = Omit<RowOptions, 'columns' | 'verdict'> &
  Wishes & { readonly decimal?: DecimalSign | undefined }

/** How a list is read, as a whole. */
export interface ReadOptions extends RowWishes {
  readonly encoding?: string | undefined
  /** Lines that are left out at the beginning. */
  readonly skip?: number | undefined
  /** Of a spreadsheet or an archive: which of its tables. */
  readonly sheet?: string | undefined
  /** How many cells a row had when it was agreed how the list is read. */
  readonly width?: number | undefined
}

// Places, languages and devices multiply out: a few lines may give very many queries.
const mostQueries = 5_000

const nameOrQuery = 'the name of a column where a block begins: a header or a query'

interface Found {
  readonly queries: ListedQuery[]
  readonly rejected: Rejection[]
  usable: number
}

function nothingYet(): Found {
  return { queries: [], rejected: [], usable: 0 }
}

/** What is known of a list before its rows are read. */
export interface Known {
  readonly shown: string
  readonly dialect: Dialect
  readonly verdict: ColumnFindings
}

/** Turns the text of a list, piece by piece, into its queries. */
export class Reader {
  readonly headersAgain: number[] = []
  readonly survey: Survey
  readonly #cutter: Cutter
  readonly #options: RowWishes
  readonly #known: Known
  readonly #headers: Headers
  #columns: Columns
  #rows: Rows
  #blankBefore = false
  #line = 0

  constructor(known: Known, options: RowWishes) {
    const { shown, dialect, verdict } = known
    const { columns, delimiter } = dialect
    this.#known = known
    this.#cutter = new Cutter(delimiter, shown)
    this.#options = options
    this.#headers = new Headers(shown, dialect, options)
    this.#columns = columns
    this.#rows = new Rows({ ...options, columns, verdict })
    this.survey = new Survey(columns, { delimiter, decimal: options.decimal })
  }

  *read(piece: Buffer, last: boolean): Generator<ListPiece> {
    const records = this.#cutter.push(piece, last)
    const from = this.#known.dialect.headerLine ?? 0
    let found = nothingYet()
    for (let index = 0; index < records.cells.length; index++) {
      const cells = records.cells[index] ?? []
      const line = records.lines[index] ?? 0
      if (line > this.#line) this.#line = line
      const record = { cells, line, texts: records.texts }
      if (line <= from || this.#isHeaderAgain(record, found)) continue
      this.#readRow(record, found)
      if (found.queries.length < mostQueries) continue
      yield { ...found, line: this.#line }
      found = nothingYet()
    }
    for (const { line, reason, content } of records.broken) {
      if (line > from) found.rejected.push({ line, reason, content: contentOf(content) })
    }
    yield { ...found, line: this.#line }
  }

  #readRow(record: RecordOfList, found: Found): void {
    const { cells, line } = record
    const row = this.#rows.read(cells, line)
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

  /** True for a record that holds no query of its own: a header, or what may be one. */
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

/** The record as it stands in the file. */
function textOf({ cells, line, texts }: RecordOfList): string {
  return texts.of(line, linesOf(cells))
}
