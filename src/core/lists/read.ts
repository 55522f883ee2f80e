// Opens a list: detects its format from its first lines, and reads its queries piece by piece.

import { buffer } from 'node:stream/consumers'
import { count } from '../../base/cli/text.ts'
import { Misuse } from '../../base/errors.ts'
import { looksLikeMail, otherThings, scoredRows } from './column-score.ts'
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
import { findDialect } from './dialect.ts'
import { decode, detectEncoding, lastLineEnd } from './encoding.ts'
import { isComment, refuseForeign } from './foreign.ts'
import type { ReadOptions } from './options.ts'
import { Cutter, type ListRecord } from './records.ts'
import { contentOf, type ListedQuery, type Rejection, type Row, Rows } from './rows.ts'
import { type ColumnFindings, createSurvey, noticesOf, sameFindings } from './soft-columns.ts'
import { peek, type Source } from './source.ts'
import { filledCells, isNumber } from './values.ts'

export type { ColumnFindings }

/** Findings from the first lines of a list. */
export type Heading = Awaited<ReturnType<typeof openList>>['heading']

const headSize = 256 * 1024

/** Opens a list, and rejects it before reading the rest if its beginning is ambiguous. */
export async function openList(source: Source, typed: ReadOptions, known?: ColumnFindings) {
  const options = { ...typed, firstLine: source.firstLine }
  const { head, whole, all } = await peek(source.chunks, headSize)
  if (head.length === 0) throw nothingIn(source.shown, true)
  const encoding = await detectEncoding(head, whole, options.encoding)
  const decoded = await buffer(decode([head], encoding, { shown: source.shown, toTheEnd: whole }))
  const text = whole ? decoded : decoded.subarray(0, lastLineEnd(decoded) || undefined)
  if (encoding.how === 'guessed') throw guessed(source.shown, encoding.label, text)
  if (text.toString().trim() === '') throw nothingIn(source.shown, whole)
  if (options.delimiter === undefined) refuseForeign(text, source.shown, options)
  const { dialect, rows, candidates } = findDialect(text, source.shown, options)
  const { width } = dialect.columns
  // If the number of columns has changed since the flags were stored, the stored column numbers may be wrong.
  if (options.width !== undefined && options.width !== width) {
    throw new Misuse(
      `expected ${source.shown} to have ${options.width} columns, as it did when its format was last confirmed, got ${width}; enqueue the list by hand once to confirm the new format`,
    )
  }
  const [, runnerUp] = candidates
  const survey = createSurvey(dialect, options)
  for (const cells of rows) survey.look(cells)
  const verdict = known ?? survey.verdict()
  const reader = new Reader(source, { dialect, verdict }, options)
  return {
    heading: {
      file: source.file ?? source.shown,
      sheet: source.sheet ?? null,
      ...{ encoding, dialect, verdict },
      rows: rows.slice(0, 3) as readonly (readonly string[])[],
      /** Index of the second most likely query column. */
      runnerUp: runnerUp !== undefined && runnerUp.score > likelyScore ? runnerUp.index : null,
    },
    /** Line numbers of further headers, at the starts of blocks or joined files. */
    headersAgain: reader.headersAgain,
    /** Remarks about the list, for example about columns that are ignored despite their names. */
    notices: [
      ...(source.notices ?? []),
      ...noticesOf(dialect, verdict),
      ...contentNotice(rows, dialect),
    ],
    pieces: readAll(source, decode(all, encoding, source), reader),
    /** Call after the last piece. If the list must be read again, returns the new findings; otherwise null. */
    again: () => {
      const last = reader.survey.verdict()
      return sameFindings(verdict, last) ? null : last
    },
  }
}

/** Highest score that a column of labels ("high", "low") can have. */
const likelyScore = 0.6

function contentNotice(
  rows: readonly (readonly string[])[],
  { columns: { query } }: Dialect,
): readonly string[] {
  const found = rows.slice(0, scoredRows).map((cells) => cells[query] ?? '')
  const mails = found.filter(looksLikeMail).length
  const things = otherThings(found)
  if (mails > 0) {
    const lines = `${count(mails, 'line')} at the beginning of the list ${mails === 1 ? 'is an email address' : 'are email addresses'}`
    return [`${lines}: personal data would be sent to the search API`]
  }
  if (things === undefined) return []
  return [`the queries seem to be ${things}, such as ${show(found[0] ?? '')}`]
}

function nothingIn(shown: string, whole: boolean): Misuse {
  const found = whole
    ? 'an empty file; put one query on each line'
    : `only blank lines in the first ${headSize / 1024} KiB; remove them`
  return new Misuse(`expected queries in ${shown}, got ${found}`)
}

function guessed(shown: string, label: string, text: Buffer): Misuse {
  const rows = text.toString().split(/\r\n|\n|\r/)
  // Lines with characters outside ASCII show whether the guess is right.
  // eslint-disable-next-line no-control-regex -- the range covers all of ASCII
  const telling = rows.filter((row) => /[^\u0000-\u007f]/.test(row)).slice(0, 3)
  const sample = telling.map((row) => `  ${row.slice(0, 100)}`).join('\n')
  return new Misuse(
    `expected ${shown} to be UTF-8 or UTF-16, got another encoding, perhaps ${label}; if the lines below look right, use --encoding ${label}, otherwise try another encoding:\n${sample}`,
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

/** Returns an empty result: no queries, rejected lines or usable lines. */
function noRows() {
  return { queries: [] as ListedQuery[], rejected: [] as Rejection[], usable: 0 }
}

export interface ListPiece extends Readonly<ReturnType<typeof noRows>> {
  /** Number of the last line that was read. */
  readonly line: number
}

// Maximum number of queries in a piece. Places, languages and devices can turn a few lines into many queries.
const mostQueries = 5_000

interface Findings {
  readonly dialect: Dialect
  readonly verdict: ColumnFindings
}

class Reader {
  readonly headersAgain: number[] = []
  readonly survey: ReturnType<typeof createSurvey>
  readonly #cutter: Cutter
  readonly #options: ReadOptions
  readonly #known: Findings
  readonly #judge: ReturnType<typeof createHeaderJudge>
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
    this.#judge = createHeaderJudge(shown, dialect, options)
    this.#hiddenRows = hiddenRows
    this.#columns = dialect.columns
    this.#rows = new Rows(dialect.columns, verdict, options)
    this.survey = createSurvey(dialect, options)
  }

  *read(piece: Buffer, last: boolean): Generator<ListPiece> {
    const { records, broken, bytes } = this.#cutter.push(piece, last)
    const from = this.#known.dialect.headerLine ?? 0
    let found = noRows()
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
      found = noRows()
    }
    for (const { line, reason, content } of broken) {
      if (line > from) found.rejected.push({ line, reason, content: contentOf(content) })
    }
    yield { ...found, line: this.#line }
  }

  /** Returns the reason if the record is rejected. */
  #readRecord({ cells, line }: ListRecord, found: ReturnType<typeof noRows>): string | undefined {
    const judgement = this.#judge(cells, this.#blankBefore, line)
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

  #rowOf(cells: readonly string[], line: number): Row {
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

/** Kind of a record: a row, an ambiguous record, or a header with these columns. */
type RowOrHeader = 'row' | 'either' | Columns

const mark = 0xfeff

/** Detects further headers, which occur in exports with several blocks and in concatenated files. */
function createHeaderJudge(shown: string, { header, columns }: Header, options: ReadOptions) {
  let now: Header = { header: withoutMark(header), columns }
  const known = header.length === 0 ? [] : [now]
  const names = new Set(header.map(plainName).filter((name) => name !== ''))

  /** This method is called for every record, so it must be fast. For nearly all rows, comparing one cell suffices. */
  return (cells: readonly string[], blankBefore: boolean, line: number): RowOrHeader => {
    const marked = cells[0]?.charCodeAt(0) === mark
    const begins = blankBefore || marked
    const bare = marked ? withoutMark(cells) : cells
    for (const one of known) {
      if (bare[0] !== one.header[0] || !isSame(bare, one.header)) continue
      if (begins || bare.length > 1) return begin(one)
    }
    if (!begins || options.header === false) return 'row'
    if (isTitle(now.header)) return isTitle(bare) ? now.columns : 'row'
    if (now.columns.width > 1) return judgeNames(bare, line)
    // Below a blank line, the word "keyword" may be a query. A byte order mark begins a new file with its own header.
    return marked && bare.length === 1 && namesQueries(bare[0]) ? now.columns : 'row'
  }

  function begin(found: Header): Columns {
    now = found
    return found.columns
  }

  function namesQueries(cell = ''): boolean {
    const name = plainName(cell)
    const isSameName = name !== '' && name === plainName(now.header[now.columns.query] ?? '')
    return isSameName || isQueryName(cell)
  }

  /** Most cells must be column names, because an ordinary row may contain "keyword". */
  function judgeNames(cells: readonly string[], line: number): RowOrHeader {
    const filled = filledCells(cells)
    if (filled.length < 2 || filled.some(isNumber) || !filled.some(namesQueries)) return 'row'
    const named = filled.filter(
      (cell) => readMeaning(cell) !== undefined || names.has(plainName(cell)),
    )
    if (named.length <= filled.length / 2) {
      return namesQueries(cells[now.columns.query]) ? 'either' : 'row'
    }
    const { column, map } = options
    const reading = readHeader(cells, column)
    if (reading.kind !== 'columns') throw noColumn(`${shown}:${line}`, filled, column)
    const found = { header: cells, columns: mapColumns(reading.columns, cells, { shown, map }) }
    known.push(found)
    return begin(found)
  }
}

function noColumn(place: string, filled: readonly string[], column: string | undefined): Misuse {
  const wanted = column === undefined ? 'one query column' : `a column ${show(column)}`
  return new Misuse(
    `${place}: expected ${wanted} in the header of this block too, got ${filled.slice(0, 12).map(show).join(', ')}; move the block to a separate file or, if this line is a row, remove the blank line above it`,
  )
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((cell, index) => cell === other[index])
}

function withoutMark(cells: readonly string[]): readonly string[] {
  const [first, ...others] = cells
  return first === undefined ? cells : [first.replace(/^\ufeff+/u, ''), ...others]
}
