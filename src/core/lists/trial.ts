// Splits the beginning of a list with a delimiter, to see whether it fits.

import { delimiterNames } from '../../base/cli/flags.ts'
import { Misuse } from '../../base/errors.ts'
import { isThing } from './column-score.ts'
import { type Mapping, readHeader } from './columns.ts'
import { isComment } from './foreign.ts'
import { Cutter } from './records.ts'
import { isGap, isNumber } from './values.ts'

/** Flags about header and columns. */
export interface ListOptions {
  readonly delimiter?: string | undefined
  readonly column?: string | undefined
  /** False: the first line is an ordinary row. */
  readonly header?: boolean | undefined
  readonly map?: readonly Mapping[] | undefined
  readonly weightColumn?: string | undefined
  /** Handling of numbers and bullets before queries; if undefined, such a list is rejected. */
  readonly numbering?: 'keep' | 'strip' | undefined
  /** Handling of lines that start with "# " or "//"; if undefined, such a list is rejected. */
  readonly comments?: 'keep' | 'skip' | undefined
  /** Number of the first line, if it is not 1. */
  readonly firstLine?: number | undefined
}

/** Beginning of a list, split with one delimiter. */
export interface Trial {
  readonly delimiter: string | null
  readonly records: readonly (readonly string[])[]
  readonly lines: readonly number[]
  /** Lines that could not be split into fields. */
  readonly broken: readonly number[]
}

/** Delimiters to try: the typed one, or all common ones. */
export function wantedDelimiters(typed: string | undefined): readonly (string | null)[] {
  if (typed === undefined) return [...Object.values(delimiterNames), null]
  if (typed.toLowerCase() === 'none') return [null]
  const named = typed.toLowerCase() === '\\t' ? 'tab' : typed.toLowerCase()
  const delimiter = delimiterNames[named] ?? typed
  if (delimiter.length === 1 && !/["\r\n\w]/.test(delimiter)) return [delimiter]
  throw new Misuse(
    `expected --delimiter to be one character, comma, semicolon, tab, pipe or none, got ${JSON.stringify(typed)}`,
  )
}

/** A delimiter as a user would type it. */
export function typedDelimiter(delimiter: string | null): string {
  const name = Object.entries(delimiterNames).find(([, sign]) => sign === delimiter)
  return name?.[0] ?? delimiter ?? 'none'
}

/** Splits the beginning of a list with a delimiter. */
export function tryOut(
  head: Buffer,
  delimiter: string | null,
  { comments, firstLine }: Pick<ListOptions, 'comments' | 'firstLine'> = {},
): Trial {
  const { records, broken } = new Cutter(delimiter, '', firstLine).push(head, true)
  const kept = records.filter(({ cells: [first = ''] }) => comments !== 'skip' || !isComment(first))
  return {
    delimiter,
    records: kept.map(({ cells }) => cells),
    lines: kept.map(({ line }) => line),
    broken: broken.map(({ line }) => line),
  }
}

/** Number of a record's line, for messages; names of JSON fields are on its first line. */
export function lineAt({ lines }: Trial, at: number): number {
  return Math.max(lines[at] ?? 1, 1)
}

/** True for a cell that may be a column name. */
export function isName(cell: string): boolean {
  return !isNumber(cell) && !isGap(cell)
}

/** True for a number that is not a column name; years may be column names. */
export function isFigure(cell: string): boolean {
  return isNumber(cell) && !/^\s*20\d\d\s*$/.test(cell)
}

/** True for an empty record. */
export function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === '')
}

/** Counts the cells of a record up to the last filled one. */
export function filledWidth(cells: readonly string[]): number {
  return cells.findLastIndex((cell) => cell.trim() !== '') + 1
}

/** True if a blank follows each delimiter: then it is punctuation, unless blanks surround it, as with bars. */
export function isProse(rows: readonly (readonly string[])[]): boolean {
  if (rows.every((cells) => cells.slice(0, -1).every((cell) => /\s$/.test(cell)))) return false
  return rows.every((cells) => cells.slice(1).every((cell) => cell.startsWith(' ')))
}

/** True if a delimiter splits at least this share of the rows into the same number of cells, and is not punctuation. */
export function dividesRows(
  trial: Trial,
  { afterLine, least, share }: { afterLine: number; least: number; share: number },
): boolean {
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
  return same.length >= rows.length * share && !isProse(same)
}

/** Most common number of cells in a row. */
export function mostCommonWidth(rows: readonly (readonly string[])[]): number {
  const counts = new Map<number, number>()
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one)
  return most?.[0] ?? 0
}

/** True if most rows have the same number of cells, more than two: a report rather than a list of lines. */
export function isReport(records: readonly (readonly string[])[]): boolean {
  const rows = records.filter((cells) => !isBlank(cells))
  const width = mostCommonWidth(rows)
  return width > 2 && rows.filter(({ length }) => length === width).length > rows.length / 2
}

/** True if most rows contain the same word as their column name: a label such as "q" is not a name. */
export function comesAgain(
  trial: Trial,
  at: number,
  reading: ReturnType<typeof readHeader>,
): boolean {
  if (reading.kind !== 'columns') return false
  const header = trial.records[at] ?? []
  const { query } = reading.columns
  const rows = trial.records.filter(
    (cells, index) => index !== at && cells.length === header.length && !isBlank(cells),
  )
  return rows.filter((cells) => cells[query] === header[query]).length * 2 > rows.length
}

/** True for a first record of words above columns of numbers, addresses or the like, or one with known column names. */
export function looksLikeHeader(trial: Trial, at: number): boolean {
  const { records } = trial
  const cells = records[at] ?? []
  const reading = readHeader(cells, undefined)
  if (reading.kind !== 'none' && !comesAgain(trial, at, reading)) return true
  // A single cell proves nothing: split with the wrong delimiter, a whole row of figures may look like a number.
  if (cells.length < 2) return false
  const block = records.slice(records.slice(0, at).findLastIndex(isBlank) + 1, at)
  // Among rows, a word above numbers is a gap such as "n/a"; a title padded with blank cells is not a row.
  if (block.some((row) => row.length === cells.length && isFilled(row))) return false
  const rows = records.slice(at + 1, at + 50).filter((row) => row.length === cells.length)
  return (
    rows.length > 0 &&
    cells.some(
      (cell, index) =>
        isName(cell) &&
        !isThing(cell) &&
        rows.every((row) => isNumber(row[index] ?? '') || isThing(row[index] ?? '')),
    )
  )
}

function isFilled(cells: readonly string[]): boolean {
  return cells.filter((cell) => cell.trim() !== '').length > 1
}
