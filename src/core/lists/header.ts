// Finds the header among the first records of a list.

import { Misuse } from '../../base/errors.ts'
import {
  columnNumber,
  type Columns,
  isTitle,
  plainColumns,
  readHeader,
  readMeaning,
  show,
} from './columns.ts'
import {
  comesAgain,
  filledCells,
  filledWidth,
  isFigure,
  isName,
  isProse,
  type ListOptions,
  looksLikeHeader,
  placeOf,
  showRow,
  type Trial,
  type TrialRow,
} from './trial.ts'
import { isGap, isNumber } from './values.ts'

/** A row that may be the header. */
export interface Candidate {
  readonly trial: Trial
  readonly at: number
  readonly row: TrialRow
  readonly columns: Columns
  /** Share of the rows after the header with the same width. */
  readonly fit: number
  /** False if it may be a row of the list, so that it and the lines above it would be lost. */
  readonly clear: boolean
  /** True if rows of the same width precede it; if the column is given by number, it is one of these rows. */
  readonly among: boolean
}

interface Place extends Pick<Candidate, 'trial' | 'at' | 'row'> {
  /** Filled cells of each line above. */
  readonly above: readonly number[]
}

/** Reports of keyword tools start with their name, dates and settings; the header is within this many records. */
const headerWithin = 30

/** Finds the header in the first lines of a list when split with this delimiter. */
export function findHeader(
  trial: Trial,
  shown: string,
  options: ListOptions,
): Candidate | undefined {
  let unclear: Candidate | undefined
  for (const [at, row] of trial.rows.slice(0, headerWithin).entries()) {
    const candidate = candidateAt({ trial, at, row, above: widthsAbove(trial, at) }, shown, options)
    if (candidate?.clear === true) return candidate
    unclear ??= candidate
  }
  return unclear
}

function widthsAbove({ rows, broken }: Trial, at: number): number[] {
  const line = rows[at]?.line ?? 0
  return [
    ...rows.slice(0, at).map(({ cells }) => (isProse([cells]) ? 1 : filledWidth(cells))),
    ...broken.filter((other) => other < line).map(() => 1),
  ]
}

function candidateAt(place: Place, shown: string, options: ListOptions): Candidate | undefined {
  const { trial, at, row, above } = place
  const { cells } = row
  const number = columnNumber(options.column)
  const named = options.column !== undefined && number === undefined
  // With --delimiter none, each line is a query, including the lines above such a "header".
  const none = trial.delimiter === null && options.delimiter !== undefined
  if (none && !named && above.length > 0) return undefined
  if (options.column === undefined && isTitle(cells)) return titleAt(place)
  if (number !== undefined && !looksLikeHeader(trial, at)) return undefined
  // Names next to figures may be a header or a row, and a column number does not tell which.
  if (number !== undefined && cells.some(isFigure)) return undefined
  const reading = readHeader(cells, options.column)
  if (reading.kind === 'none' || (!named && comesAgain(trial, at, reading))) return undefined
  if (reading.kind === 'unclear') {
    const lines = above.length === 0 ? '' : ', or type --delimiter none if each line is one query'
    throw new Misuse(
      `${placeOf(shown, row)}: ${reading.problem}; pick one with --column and its number${lines}`,
    )
  }
  const { columns } = reading
  // A single word further down may be the query "keyword".
  if (columns.width === 1 && !row.begins && !named) return undefined
  const fit = fitOf(trial, at, columns.width)
  const clear = named || isClear(place, { fit, numbered: number !== undefined })
  // A number may stand for a column without a name; a record among rows of the same width is a row.
  const among =
    above.some((width) => width > 1 && width >= filledWidth(cells)) &&
    !isClear(place, { fit, numbered: true })
  if (number !== undefined && among) return undefined
  return { trial, at, row, columns, fit, clear, among }
}

/** Title of a block of related queries: followed by numbers, preceded by nothing or a blank line. */
function titleAt({ trial, at, row, above }: Place): Candidate | undefined {
  const below = trial.rows.slice(at + 1)
  const end = below.findIndex(({ begins }) => begins)
  const rows = end < 0 ? below : below.slice(0, end)
  const numbers = rows.filter(({ cells }) => isNumber(cells[1] ?? '')).length
  const fit = fitOf(trial, at, 2)
  // Without a number below, it may be a query, unless it is spelled as in exports.
  const asExported = above.length === 0 && /^\P{Ll}*$/u.test(row.cells[0] ?? '')
  if (!row.begins || fit <= 0.5 || (numbers <= rows.length / 2 && !asExported)) return undefined
  return { trial, at, row, columns: plainColumns(0, 2), fit, clear: true, among: false }
}

function fitOf({ rows }: Trial, header: number, width: number): number {
  const below = rows.slice(header + 1)
  if (below.length === 0) return 1
  return below.filter(({ cells }) => cells.length === width).length / below.length
}

/**
 * Lines above a header are not read as queries, so there must be no doubt that it is the header and they are a title or
 * settings.
 */
function isClear(
  { trial, at, row: { cells, begins }, above }: Place,
  { fit, numbered }: { fit: number; numbered: boolean },
): boolean {
  if (above.length === 0) return true
  if (fit < 0.8) return false
  const numbers = cells.some((_, index) => startsNumbers(trial, at, index))
  const wider = above.every((width) => width < filledWidth(cells))
  if (!wider) return numbered && begins && numbers
  const known = cells.filter((cell) => readMeaning(cell) !== undefined).length
  return numbers || ((cells.length > 2 || known > 1) && !isProse(rowsFrom(trial, at)))
}

function rowsFrom({ rows }: Trial, at: number): readonly (readonly string[])[] {
  const width = rows[at]?.cells.length
  const below = rows.slice(at, at + 50).map(({ cells }) => cells)
  return below.filter(({ length }) => length === width)
}

/** True if a name is followed by numbers, and no number precedes it. */
function startsNumbers(trial: Trial, at: number, index: number): boolean {
  const [header, ...rows] = rowsFrom(trial, at)
  if (!isName(header?.[index] ?? '')) return false
  const filled = rows.map((cells) => cells[index] ?? '').filter((cell) => !isGap(cell))
  const above = trial.rows.slice(0, at).some(({ cells }) => isNumber(cells[index] ?? ''))
  return !above && filled.length > 0 && filled.every(isNumber)
}

const code = /^[a-z]{2}$/

/** True for a first record that is data: column names are not figures, and are not repeated further down. */
export function isClearlyRow(trial: Trial, at: number): boolean {
  const [first = [], ...rows] = rowsFrom(trial, at)
  if (first.some((_, index) => startsNumbers(trial, at, index))) return false
  if (first.some(isFigure)) return readHeader(first, undefined).kind === 'none'
  const others = rows.filter((cells) => cells.some((cell, index) => cell !== first[index]))
  const isLabel = (index: number): boolean =>
    others.filter((cells) => cells[index] === first[index]).length * 2 > others.length
  if (first.some((cell, index) => readMeaning(cell) !== undefined && !isLabel(index))) return false
  return first.some((cell, index) => {
    const below = others.map((cells) => cells[index] ?? '')
    const codes = below.length > 0 && [cell, ...below].every((text) => code.test(text))
    return codes || (cell.trim() !== '' && below.includes(cell))
  })
}

/**
 * If the column is given by number, rejects a first line of words that may be a header, because its name would be
 * bought.
 */
export function refuseNames(trial: Trial, shown: string, number: number): void {
  const at = Math.max(
    trial.rows.findIndex(({ cells }) => filledCells(cells) > 1),
    0,
  )
  if (isClearlyRow(trial, at)) return
  const row = trial.rows[at]
  const cells = row?.cells ?? []
  throw new Misuse(
    `${placeOf(shown, row)}: expected figures in a first row, or names over columns of figures, got ${showRow(cells)}, which may be either; type --column ${show(cells[number] ?? '')} if it is the header, or --no-header --column ${number + 1} if it is a row`,
  )
}

/** Rejects a header preceded by lines that may be queries. */
export function unclearHeader(
  shown: string,
  { row, columns: { query }, among }: Candidate,
): Misuse {
  const orRow = among ? `, --column ${query + 1} if it is a row like them` : ''
  return new Misuse(
    `${placeOf(shown, row)}: expected a header on the first line, or below a title and above rows as wide as it, got ${showRow(row.cells)} below lines that may be queries; type --column ${show(row.cells[query] ?? '')} if it is the header and they are no queries${orRow}, --delimiter none if each line is one query`,
  )
}
