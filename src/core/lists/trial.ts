// Splits the beginning of a list with a delimiter, to see whether it fits.

import { delimiterNames } from '../../base/cli/flags.ts'
import { Misuse } from '../../base/errors.ts'
import { isThing, scoreColumns, type ScoredColumn } from './column-score.ts'
import { type Mapping, readHeader, show } from './columns.ts'
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

/** A row at the beginning of a list that is not blank. */
export interface TrialRow {
  readonly cells: readonly string[]
  /** Number of its line; names of JSON fields are on line 0. */
  readonly line: number
  /** True for the first row, and for one below a blank line. */
  readonly begins: boolean
}

/** Beginning of a list, split with one delimiter. */
export interface Trial {
  readonly delimiter: string | null
  readonly rows: readonly TrialRow[]
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

/** Number of rows that are enough to judge columns. */
export const scoredRows = 200

/** Splits the beginning of a list with a delimiter. */
export function tryOut(
  head: Buffer,
  delimiter: string | null,
  { comments, firstLine }: Pick<ListOptions, 'comments' | 'firstLine'> = {},
): Trial {
  const { records, broken } = new Cutter(delimiter, '', firstLine).push(head, true)
  const kept = records.filter(({ cells: [first = ''] }) => comments !== 'skip' || !isComment(first))
  const rows = kept.flatMap(({ cells, line }, at) =>
    isBlank(cells) ? [] : [{ cells, line, begins: isBlank(kept[at - 1]?.cells ?? []) }],
  )
  return { delimiter, rows, broken: broken.map(({ line }) => line) }
}

/** Place of a row, for messages. */
export function placeOf(shown: string, row: TrialRow | undefined): string {
  return `${shown}:${Math.max(row?.line ?? 1, 1)}`
}

/** First cells of a row, for messages. */
export function showRow(cells: readonly string[]): string {
  return cells.slice(0, 12).map(show).join(', ')
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
function isBlank(cells: readonly string[]): boolean {
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
export function divides(
  delimiter: string | null,
  rows: readonly TrialRow[],
  { least = 0, share = 0.5 }: { readonly least?: number; readonly share?: number } = {},
): boolean {
  const width = widthOf(rows)
  if (delimiter === null || rows.length <= least || width < 2) return false
  const same = rows.map(({ cells }) => cells).filter(({ length }) => length === width)
  return same.length >= rows.length * share && !isProse(same)
}

/** The table that a trial yields: its first row as wide as most, and its columns that may hold queries. */
export function tableOf({ rows }: Trial) {
  const width = widthOf(rows)
  const at = Math.max(
    rows.findIndex(({ cells }) => cells.length >= width),
    0,
  )
  const header = rows[at]?.cells ?? []
  const below = rows.slice(at + 1, at + scoredRows).map(({ cells }) => cells)
  const texts: readonly ScoredColumn[] = scoreColumns(
    below.length === 0 ? [header] : below,
    header.length,
  )
  return { at, width, header, below, texts }
}

/** Most common number of cells in a row. */
export function widthOf(rows: readonly TrialRow[]): number {
  const counts = new Map<number, number>()
  for (const { cells } of rows) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one)
  return most?.[0] ?? 0
}

/** True if most rows have the same number of cells, more than two: a report rather than a list of lines. */
export function isReport({ rows }: Trial): boolean {
  const width = widthOf(rows)
  return width > 2 && rows.filter(({ cells }) => cells.length === width).length > rows.length / 2
}

/** True if most rows contain the same word as their column name: a label such as "q" is not a name. */
export function comesAgain(
  { rows }: Trial,
  at: number,
  reading: ReturnType<typeof readHeader>,
): boolean {
  if (reading.kind !== 'columns') return false
  const header = rows[at]?.cells ?? []
  const { query } = reading.columns
  const others = rows.filter(({ cells }, index) => index !== at && cells.length === header.length)
  return others.filter(({ cells }) => cells[query] === header[query]).length * 2 > others.length
}

/** True for a first record of words above columns of numbers, addresses or the like, or one with known column names. */
export function looksLikeHeader(trial: Trial, at: number): boolean {
  const { rows } = trial
  const cells = rows[at]?.cells ?? []
  const reading = readHeader(cells, undefined)
  if (reading.kind !== 'none' && !comesAgain(trial, at, reading)) return true
  // A single cell proves nothing: split with the wrong delimiter, a whole row of figures may look like a number.
  if (cells.length < 2) return false
  const block = rows.slice(
    rows.findLastIndex(({ begins }, index) => begins && index <= at),
    at,
  )
  const isAlike = (row: TrialRow): boolean => row.cells.length === cells.length
  // Among rows, a word above numbers is a gap such as "n/a"; a title padded with blank cells is not a row.
  if (block.some((row) => isAlike(row) && filledCells(row.cells) > 1)) return false
  const below = rows.slice(at + 1, at + 50).filter(isAlike)
  const areFigures = (index: number): boolean =>
    below.map((row) => row.cells[index] ?? '').every((cell) => isNumber(cell) || isThing(cell))
  return (
    below.length > 0 &&
    cells.some((cell, index) => isName(cell) && !isThing(cell) && areFigures(index))
  )
}

/** Counts the cells that are not blank. */
export function filledCells(cells: readonly string[]): number {
  return cells.filter((cell) => cell.trim() !== '').length
}
