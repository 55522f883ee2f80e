// Splits the beginning of a list with each delimiter, to see which of them fits.

import { delimiterNames } from '../../base/cli/flags.ts'
import { Misuse } from '../../base/errors.ts'
import { scoreColumns } from './column-score.ts'
import { show } from './columns.ts'
import { isComment } from './foreign.ts'
import type { ReadOptions } from './options.ts'
import { Cutter } from './records.ts'
import { isBlank } from './values.ts'

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

/** Splits the beginning of a list with a delimiter. */
export function tryOut(
  head: Buffer,
  delimiter: string | null,
  { comments, firstLine }: Partial<ReadOptions> = {},
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
  const below = rows.slice(at + 1).map(({ cells }) => cells)
  const candidates = scoreColumns(below.length === 0 ? [header] : below, header.length)
  return { at, width, header, below, candidates }
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
