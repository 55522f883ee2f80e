import { Misuse } from '../errors.ts'
import { columnNumber, isTitle, plainColumns, readHeader, type Columns } from './columns.ts'
import { noQueryColumn } from './missing.ts'
import {
  dividesRows,
  isAddressList,
  isBlank,
  isNumber,
  isReport,
  mostCommonWidth,
  tryOut,
  wantedDelimiters,
  type Trial,
} from './trial.ts'

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

interface Candidate {
  readonly trial: Trial
  readonly at: number
  readonly columns: Columns
  /** Share of the records after the header that are as wide as it. */
  readonly fit: number
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
  if (narrow !== undefined) return singleColumn(narrow, trials, { shown, wishes })
  return withoutHeader(trials, shown, wishes)
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
  { shown, wishes }: { shown: string; wishes: Wishes },
): Dialect {
  const plain = wishes.delimiter === undefined ? tryNone(trials) : narrow.trial
  const from = narrow.trial.lines[narrow.at] ?? 0
  const divided = trials.find((trial) =>
    dividesRows(trial, { afterLine: from, least: 1, share: 0.8 }),
  )
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

/** No cell names a column of queries: fine for a plain list of lines, refused for everything else. */
function withoutHeader(trials: readonly Trial[], shown: string, wishes: Wishes): Dialect {
  const divided = trials.filter((trial) =>
    dividesRows(trial, { afterLine: 0, least: 0, share: 0.5 }),
  )
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
    throw noQueryColumn(shown, report ?? trials[0] ?? tryNone(trials), wishes.column)
  }
  const plain = wishes.delimiter === undefined ? tryNone(trials) : (trials[0] ?? tryNone(trials))
  if (isAddressList(plain)) throw noQueryColumn(shown, plain, wishes.column)
  return { delimiter: plain.delimiter, headerLine: null, header: [], columns: plainColumns(0, 1) }
}
