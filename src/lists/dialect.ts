import { Misuse } from '../errors.ts'
import { columnNumber, isTitle, plainColumns, readHeader, show, type Columns } from './columns.ts'
import { Cutter } from './records.ts'

/** How a list is written: found by trial on its beginning, then kept to the end. */
export interface Dialect {
  /** Null: one query a line. */
  readonly delimiter: string | null
  /** Number of the header's line; null when there is none. */
  readonly headerLine: number | null
  readonly header: readonly string[]
  readonly columns: Columns
}

export interface Wishes {
  readonly delimiter?: string | undefined
  readonly column?: string | undefined
}

interface Trial {
  readonly delimiter: string | null
  readonly records: readonly (readonly string[])[]
  readonly lines: readonly number[]
}

interface Candidate {
  readonly trial: Trial
  readonly at: number
  readonly columns: Columns
  /** Share of the records after the header that are as wide as it. */
  readonly fit: number
}

const delimiters = [',', ';', '\t', '|'] as const
const delimiterNames: Readonly<Record<string, string>> = {
  comma: ',',
  semicolon: ';',
  tab: '\t',
  '\\t': '\t',
  pipe: '|',
}

/** Reports of keyword tools begin with their name, dates and settings: the header comes within these records. */
const headerWithin = 30

/** Finds delimiter and header on the first lines of a list; what stays unclear is refused, never guessed. */
export function findDialect(head: Buffer, shown: string, wishes: Wishes): Dialect {
  const trials = wantedDelimiters(wishes.delimiter).map((delimiter) => tryOut(head, delimiter))
  const candidates = trials.flatMap((trial) => findHeader(trial, shown, wishes.column) ?? [])
  const wide = candidates.filter(({ columns }) => columns.width > 1)
  const [best, second] = wide.toSorted((one, other) => other.fit - one.fit)
  if (best !== undefined) {
    if (second !== undefined && second.fit >= best.fit / 2) throw unclear(shown, best, second)
    return dialectOf(best)
  }
  const [narrow] = candidates
  if (narrow !== undefined) return singleColumn(narrow, trials, shown, wishes)
  return withoutHeader(trials, shown, wishes)
}

function wantedDelimiters(wish: string | undefined): readonly (string | null)[] {
  if (wish === undefined) return [...delimiters, null]
  if (wish.toLowerCase() === 'none') return [null]
  const delimiter = delimiterNames[wish.toLowerCase()] ?? wish
  if (delimiter.length === 1 && !/["\r\n\w]/.test(delimiter)) return [delimiter]
  throw new Misuse(
    `expected --delimiter to be one character, comma, semicolon, tab, pipe or none, got ${JSON.stringify(wish)}`,
  )
}

function tryOut(head: Buffer, delimiter: string | null): Trial {
  const { cells, lines } = new Cutter(delimiter, '').push(head, true)
  const order = [...lines.keys()].toSorted((one, other) => (lines[one] ?? 0) - (lines[other] ?? 0))
  return {
    delimiter,
    records: order.map((index) => cells[index] ?? []),
    lines: order.map((index) => lines[index] ?? 0),
  }
}

function findHeader(
  trial: Trial,
  shown: string,
  wanted: string | undefined,
): Candidate | undefined {
  let seen = 0
  let blankBefore = true
  for (const [at, cells] of trial.records.entries()) {
    if (isBlank(cells)) {
      blankBefore = true
      continue
    }
    const candidate = headerAt(trial, at, wanted)
    if (candidate?.kind === 'unclear') {
      throw new Misuse(
        `${shown}:${trial.lines[at] ?? 0}: ${candidate.problem}; pick one with --column and its number`,
      )
    }
    // A lone word further down may be a query that happens to be called "keyword".
    const alone = candidate?.columns.width === 1
    if (candidate !== undefined && (!alone || blankBefore || wanted !== undefined)) return candidate
    blankBefore = false
    if (++seen >= headerWithin) return undefined
  }
  return undefined
}

function headerAt(
  trial: Trial,
  at: number,
  wanted: string | undefined,
): (Candidate & { kind: 'candidate' }) | { kind: 'unclear'; problem: string } | undefined {
  const cells = trial.records[at] ?? []
  if (wanted === undefined && isTitle(cells)) {
    const fit = fitOf(trial, at, 2)
    return fit > 0.5
      ? { kind: 'candidate', trial, at, columns: plainColumns(0, 2), fit }
      : undefined
  }
  if (columnNumber(wanted) !== undefined && !looksLikeHeader(trial, at)) return undefined
  const reading = readHeader(cells, wanted)
  switch (reading.kind) {
    case 'none':
      return undefined
    case 'unclear':
      return reading
    case 'columns': {
      const { columns } = reading
      return { kind: 'candidate', trial, at, columns, fit: fitOf(trial, at, columns.width) }
    }
    default:
      throw new Error(`unhandled reading ${JSON.stringify(reading satisfies never)}`)
  }
}

function fitOf(trial: Trial, header: number, width: number): number {
  const rows = trial.records.slice(header + 1).filter((cells) => !isBlank(cells))
  if (rows.length === 0) return 1
  return rows.filter((cells) => cells.length === width).length / rows.length
}

/** With a column named by number only: a first record of words over columns of numbers, or with names that we know. */
function looksLikeHeader(trial: Trial, at: number): boolean {
  const cells = trial.records[at] ?? []
  if (readHeader(cells, undefined).kind !== 'none') return true
  const rows = trial.records.slice(at + 1, at + 50).filter((row) => row.length === cells.length)
  return (
    rows.length > 0 &&
    cells.some((cell, index) => !isNumber(cell) && rows.every((row) => isNumber(row[index] ?? '')))
  )
}

function isNumber(cell: string): boolean {
  return /^\s*[<>+-]?[\d.,\s]*\d\s*%?\s*$/.test(cell)
}

function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === '')
}

function dialectOf({ trial, at, columns }: Candidate): Dialect {
  return {
    delimiter: trial.delimiter,
    headerLine: trial.lines[at] ?? null,
    header: trial.records[at] ?? [],
    columns,
  }
}

function unclear(shown: string, one: Candidate, other: Candidate): Misuse {
  const names = [one, other].map(({ trial }) => JSON.stringify(trial.delimiter)).join(' and ')
  return new Misuse(
    `${shown}:${one.trial.lines[one.at] ?? 0}: expected one delimiter, got ${names} that both fit; say which with --delimiter`,
  )
}

/** A header of one cell: the rows must be of one cell too, or the delimiter is anybody's guess. */
function singleColumn(
  narrow: Candidate,
  trials: readonly Trial[],
  shown: string,
  wishes: Wishes,
): Dialect {
  const plain = wishes.delimiter === undefined ? tryNone(trials) : narrow.trial
  const from = narrow.trial.lines[narrow.at] ?? 0
  const divided = trials.find((trial) => dividesRows(trial, from, 1))
  if (divided !== undefined && wishes.delimiter === undefined) {
    throw new Misuse(
      `${shown}:${from}: expected rows of one cell under a header of one cell, got rows that ${JSON.stringify(divided.delimiter)} would divide; say --delimiter none if each line is one query`,
    )
  }
  return {
    delimiter: plain.delimiter,
    headerLine: from,
    header: narrow.trial.records[narrow.at] ?? [],
    columns: narrow.columns,
  }
}

function tryNone(trials: readonly Trial[]): Trial {
  const trial = trials.find(({ delimiter }) => delimiter === null)
  if (trial === undefined) throw new Error('expected a trial without delimiter')
  return trial
}

/** True when a delimiter cuts almost every row into the same number of cells, and is no punctuation of prose. */
function dividesRows(trial: Trial, afterLine: number, least: number): boolean {
  const { delimiter } = trial
  if (delimiter === null) return false
  const rows = trial.records.filter(
    (cells, index) => (trial.lines[index] ?? 0) > afterLine && !isBlank(cells),
  )
  const [first] = rows
  if (first === undefined || rows.length <= least) return false
  const width = mostCommonWidth(rows)
  if (width < 2) return false
  const same = rows.filter((cells) => cells.length === width)
  const prose = same.every((cells) => cells.slice(1).every((cell) => cell.startsWith(' ')))
  return same.length >= rows.length * 0.8 && !prose
}

function mostCommonWidth(rows: readonly (readonly string[])[]): number {
  const counts = new Map<number, number>()
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one)
  return most?.[0] ?? 0
}

/** No cell names a column of queries: fine for a plain list of lines, refused for everything else. */
function withoutHeader(trials: readonly Trial[], shown: string, wishes: Wishes): Dialect {
  const divided = trials.filter((trial) => dividesRows(trial, 0, 0))
  const [only, another] = divided
  const number = columnNumber(wishes.column)
  if (number !== undefined && only !== undefined && another === undefined) {
    const width = mostCommonWidth(only.records)
    if (number >= width) {
      throw new Misuse(
        `${shown}: expected --column from 1 to ${width}, got ${number + 1}; count the cells of a row`,
      )
    }
    const columns = plainColumns(number, width)
    return { delimiter: only.delimiter, headerLine: null, header: [], columns }
  }
  const report = only ?? trials.find(({ records }) => isReport(records))
  if (report !== undefined || (wishes.column !== undefined && number !== 0)) {
    throw noQueryColumn(shown, report ?? trials[0] ?? tryNone(trials), wishes)
  }
  const plain = wishes.delimiter === undefined ? tryNone(trials) : (trials[0] ?? tryNone(trials))
  const first = plain.records.find((cells) => !isBlank(cells))
  if (first !== undefined && isAddressList(plain)) throw noQueryColumn(shown, plain, wishes)
  return { delimiter: plain.delimiter, headerLine: null, header: [], columns: plainColumns(0, 1) }
}

/** A block of rows of several cells somewhere below: a report, no list of lines. */
function isReport(records: readonly (readonly string[])[]): boolean {
  const rows = records.filter((cells) => !isBlank(cells))
  const width = mostCommonWidth(rows)
  return width > 2 && rows.filter(({ length }) => length === width).length > rows.length / 2
}

function isAddressList({ records }: Trial): boolean {
  const rows = records.filter((cells) => !isBlank(cells)).slice(1)
  return rows.length > 0 && rows.every(([cell]) => /^\s*https?:\/\//i.test(cell ?? ''))
}

function noQueryColumn(shown: string, trial: Trial, wishes: Wishes): Misuse {
  const width = mostCommonWidth(trial.records.filter((cells) => !isBlank(cells)))
  const at = trial.records.findIndex((cells) => !isBlank(cells) && cells.length === width)
  const header = trial.records[at] ?? []
  const expected =
    wishes.column === undefined
      ? 'a column of queries (named q, query, keyword or as an export names it)'
      : `a column ${JSON.stringify(wishes.column)}`
  const rows = trial.records.slice(at + 1, at + 50)
  const texts = header.filter((_, index) => rows.some((row) => isText(row[index] ?? '')))
  const hint =
    texts.length === 0
      ? 'no column of it holds text'
      : `columns of text that would do: ${texts.slice(0, 12).map(show).join(', ')}; name one with --column if it holds queries`
  const more = header.length > 12 ? ` and ${header.length - 12} more` : ''
  return new Misuse(
    `${shown}:${trial.lines[at] ?? 1}: expected ${expected}, got the header ${header.slice(0, 12).map(show).join(', ')}${more}; ${hint}`,
  )
}

function isText(cell: string): boolean {
  return /\p{L}/u.test(cell) && !/^\s*https?:\/\//i.test(cell)
}
