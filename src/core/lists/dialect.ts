// Detects the delimiter and the header from the first lines of a list.

import { delimiterNames } from '../../base/cli/flags.ts'
import { Misuse } from '../../base/errors.ts'
import { devices } from '../../base/query.ts'
import { isThing, scoreColumns } from './column-score.ts'
import {
  columnNumber,
  type Columns,
  type Dialect,
  isTitle,
  mapColumns,
  plainColumns,
  readHeader,
  readMeaning,
  show,
} from './columns.ts'
import { isComment, refuseUnlikelyPlain } from './foreign.ts'
import type { ReadOptions } from './options.ts'
import { Cutter } from './records.ts'
import { checkDevice, filledCells, isBlank, isFilled, isGap, isNumber } from './values.ts'

interface Choice {
  readonly trial: Trial
  /** The header, if the list has one. */
  readonly row: TrialRow | null
  readonly columns: Columns
}

type Wanted = ReadOptions & { readonly shown: string }

/** Rejects an ambiguous list instead of guessing. The first candidate is the chosen query column. */
export function findDialect(head: Buffer, shown: string, options: ReadOptions) {
  const trials = wantedDelimiters(options.delimiter).map((delimiter) =>
    tryOut(head, delimiter, options),
  )
  const choose = options.header === false ? withoutNames : findNames
  const wanted = { ...options, shown }
  const { trial, row, columns: found } = choose(trials, wanted)
  const { delimiter } = trial
  const header = row?.cells ?? []
  const headerLine = row?.line ?? null
  const columns = mapColumns(found, header, wanted)
  const dialect: Dialect = { delimiter, headerLine, header, columns }
  refuseSegments(trial, shown, dialect)
  const free = options.header !== false && options.delimiter === undefined
  if (delimiter === null && header.length === 0 && free && options.column === undefined)
    refuseUnlikelyPlain(head, shown)
  const rows = trial.rows.filter(({ line }) => line > (headerLine ?? 0)).map(({ cells }) => cells)
  return { dialect, rows, candidates: scoreColumns(rows, columns.width, columns.query) }
}

/** Rejects a report that lists each query once per device, because the user may want to buy each query only once. */
function refuseSegments(
  trial: Trial,
  shown: string,
  { header, columns: { query, others } }: Dialect,
): void {
  const device = others.find(({ role, asked }) => role === 'device' && asked !== true)?.index
  if (device === undefined) return
  const isReported = (cell = ''): boolean => checkDevice(cell).ok && !deviceNames.has(cell.trim())
  const all = trial.rows.map(({ cells }) => cells)
  const rows = all.filter((cells) => isReported(cells[device]))
  if (new Set(rows.map((cells) => cells[query])).size === rows.length) return
  const name = JSON.stringify(`${header[device]?.trim() ?? device + 1}=`).slice(0, -1)
  throw new Misuse(
    `expected each query once in ${shown}, got a report that repeats queries for each ${show(header[device] ?? 'device')}, such as ${show(rows[0]?.[device] ?? '')}; use --map ${name}none" to ask each query once, or --map ${name}device" to ask it for each device`,
  )
}

const deviceNames: ReadonlySet<string> = new Set(['', ...devices])

function findNames(trials: readonly Trial[], wanted: Wanted): Choice {
  const { shown } = wanted
  const found = trials.flatMap((trial) => findHeader(trial, wanted) ?? [])
  const wide = found.filter(({ columns }) => columns.width > 1)
  const [best, second] = wide.toSorted((one, other) => other.fit - one.fit)
  if (best !== undefined && second !== undefined && second.fit >= best.fit / 2) {
    throw severalDelimiters(placeOf(shown, best.row), best.trial, second.trial)
  }
  const header = best ?? found[0]
  if (header === undefined) return withoutHeader(trials, wanted)
  if (header.clear) return header === best ? header : singleColumn(header, trials, wanted)
  const { row, among, columns } = header
  const orRow = among ? `, --column ${columns.query + 1} if it is a row like those lines` : ''
  throw new Misuse(
    `${placeOf(shown, row)}: expected a header on the first line, or below a title and above rows of the same width, got ${showRow(row.cells)} below lines that may be queries; use --column ${show(row.cells[columns.query] ?? '')} if it is the header and the lines are not queries${orRow}, or --delimiter none if each line is one query`,
  )
}

function severalDelimiters(place: string, ...trials: readonly Trial[]): Misuse {
  const signs = trials.map(({ delimiter }) => JSON.stringify(delimiter)).join(' and ')
  return new Misuse(`${place}: ${signs} are both possible delimiters; choose one with --delimiter`)
}

/** Rejects a header with one cell if a delimiter would split the rows below the header. */
function singleColumn(header: HeaderRow, trials: readonly Trial[], wanted: Wanted): Choice {
  if (wanted.delimiter !== undefined) return header
  const { line } = header.row
  const divided = trials.find((trial) => {
    const rows = trial.rows.filter((row) => row.line > line)
    return rows.length > 1 && divides({ ...trial, rows }, 0.8)
  })
  if (divided === undefined) return { ...header, trial: tryNone(trials) }
  throw new Misuse(
    `${wanted.shown}:${line}: the header has one cell, but the delimiter ${JSON.stringify(divided.delimiter)} would split the rows below it; use --delimiter none if each line is one query`,
  )
}

/** Returns the trial that uses no delimiter, or else the trial with the user's delimiter. */
function tryNone(trials: readonly Trial[]): Trial {
  const trial = trials.find(({ delimiter }) => delimiter === null) ?? trials[0]
  if (trial === undefined) throw new Error('expected a trial, got none')
  return trial
}

/** Accepts a list without a header if each line is a query, or if the user gave the number of the query column. */
function withoutHeader(trials: readonly Trial[], wanted: Wanted): Choice {
  const { shown, column } = wanted
  const divided = trials.filter((trial) => divides(trial))
  const [table, another] = divided.length > 0 ? divided : trials.filter(isReport)
  const number = columnNumber(column)
  const width = table === undefined ? 0 : widthOf(table.rows)
  if (number !== undefined && table !== undefined && number < width && another === undefined) {
    refuseNames(table, shown, number)
    return { trial: table, row: null, columns: plainColumns(number, width) }
  }
  if (table !== undefined || (column !== undefined && number !== 0)) {
    const trial = table ?? trials[0] ?? tryNone(trials)
    throw noQueryColumn(trial, { ...wanted, severalFit: another !== undefined })
  }
  return { trial: tryNone(trials), row: null, columns: plainColumns(0, 1) }
}

/** Reads the first line as a row, because the user typed `--no-header`. */
function withoutNames(trials: readonly Trial[], { shown, column, delimiter }: Wanted): Choice {
  const [table, another] = trials.filter((trial) => divides(trial))
  if (table !== undefined && another !== undefined) throw severalDelimiters(shown, table, another)
  const trial = table ?? tryNone(trials)
  const isCut = table !== undefined || delimiter !== undefined
  const width = isCut ? Math.max(1, widthOf(trial.rows)) : 1
  const query = column === undefined && width === 1 ? 0 : columnNumber(column)
  if (query !== undefined && query < width)
    return { trial, row: null, columns: plainColumns(query, width) }
  const cells = (trial.rows[0]?.cells ?? [])
    .slice(0, 12)
    .map((cell, at) => `${at + 1} ${show(cell)}`)
  throw new Misuse(
    `${shown}: with --no-header, --column must be the number of the query column, got ${column === undefined ? 'no --column' : show(column)}; the first row is ${cells.join(', ')}`,
  )
}

function noQueryColumn(
  trial: Trial,
  { shown, column, severalFit }: Wanted & { readonly severalFit: boolean },
): Misuse {
  const { at, width, header, candidates } = tableOf(trial)
  const expected =
    column === undefined
      ? 'a query column (named q, query, keyword or as in a common export)'
      : `a column ${JSON.stringify(column)}`
  const [best] = candidates
  const isRow = best !== undefined && isClearlyRow(trial, at)
  const got = `${isRow ? 'the row' : 'the first line'} ${showRow(header)}`
  const more = header.length > 12 ? ` and ${header.length - 12} more` : ''
  const hints: string[] = []
  if (best === undefined) hints.push('none of its columns contains text')
  else if (!isRow) {
    // Columns of labels, such as "high" and "low", score lower.
    const likely = candidates.filter(({ score }) => score >= best.score * 0.75)
    const names = showRow(likely.map(({ index }) => header[index] ?? ''))
    hints.push(
      `possible columns: ${names}; if one of them contains queries, select it with --column`,
    )
  }
  // If the user names a column, the line with that name becomes the header, so a query on that line would be lost.
  if (best !== undefined && header.length > 1 && !looksLikeHeader(trial, at)) {
    const delimiter = severalFit ? `--delimiter ${typedDelimiter(trial.delimiter)} ` : ''
    hints.push(`if the file has no header, use ${delimiter}--no-header --column ${best.index + 1}`)
  }
  if (width <= 2 && candidates.length === width) {
    hints.push('use --delimiter none if each line is one query')
  }
  return new Misuse(
    `${placeOf(shown, trial.rows[at])}: expected ${expected}, got ${[`${got}${more}`, ...hints].join('; ')}`,
  )
}

type HeaderRow = NonNullable<ReturnType<typeof candidateAt>>

/** A record that may be the header. */
interface Place {
  readonly trial: Trial
  readonly at: number
  readonly row: TrialRow
  /** For each line above the row, the number of cells up to the last filled cell. */
  readonly above: readonly number[]
}

function findHeader(trial: Trial, wanted: Wanted): HeaderRow | undefined {
  let doubtful: HeaderRow | undefined
  // Reports from keyword tools start with a title, dates and settings.
  for (const [at, row] of trial.rows.slice(0, 30).entries()) {
    const above = [
      ...trial.rows.slice(0, at).map(({ cells }) => (isProse([cells]) ? 1 : filledWidth(cells))),
      ...trial.broken.filter((line) => line < row.line).map(() => 1),
    ]
    const found = candidateAt({ trial, at, row, above }, wanted)
    if (found?.clear === true) return found
    doubtful ??= found
  }
  return doubtful
}

function candidateAt(place: Place, { shown, column, delimiter }: Wanted) {
  const { trial, at, row, above } = place
  const { cells } = row
  const number = columnNumber(column)
  const named = column !== undefined && number === undefined
  // With --delimiter none, every line is a query, so a line below other lines is not a header.
  const none = trial.delimiter === null && delimiter !== undefined
  if (none && !named && above.length > 0) return undefined
  if (column === undefined && isTitle(cells)) return titleAt(place)
  // If a column is given by number, a line with names and figures may be a header or a row.
  if (number !== undefined && (!looksLikeHeader(trial, at) || cells.some(isFigure)))
    return undefined
  const reading = readHeader(cells, column)
  if (reading.kind === 'none' || (!named && comesAgain(trial, at, reading))) return undefined
  if (reading.kind === 'unclear') {
    const lines = above.length === 0 ? '' : ', or use --delimiter none if each line is one query'
    throw new Misuse(
      `${placeOf(shown, row)}: ${reading.problem}; choose a column by number with --column${lines}`,
    )
  }
  const { columns } = reading
  // A single word, such as "keyword", directly below another line may be a query.
  if (columns.width === 1 && !row.begins && !named) return undefined
  const fit = fitOf(trial, at, columns.width)
  // If a row were read as the header, the row and the lines above it would be lost.
  const clear = named || isClear(place, { fit, numbered: number !== undefined })
  // If the column is given by number, a record below equally wide lines is a data row, not the header.
  const among =
    above.some((width) => width > 1 && width >= filledWidth(cells)) &&
    !isClear(place, { fit, numbered: true })
  if (number !== undefined && among) return undefined
  return { trial, at, row, columns, fit, clear, among }
}

/** Treats the title of a block of related queries as a header. The rows below the title contain numbers. */
function titleAt({ trial, at, row, above }: Place) {
  const below = trial.rows.slice(at + 1)
  const end = below.findIndex(({ begins }) => begins)
  const rows = end < 0 ? below : below.slice(0, end)
  const numbers = rows.filter(({ cells }) => isNumber(cells[1] ?? '')).length
  const fit = fitOf(trial, at, 2)
  // A title with no numbers below it may be a query, unless it is the first line and has no lower-case letters.
  const asExported = above.length === 0 && /^\P{Ll}*$/u.test(row.cells[0] ?? '')
  if (!row.begins || fit <= 0.5 || (numbers <= rows.length / 2 && !asExported)) return undefined
  return { trial, at, row, columns: plainColumns(0, 2), fit, clear: true, among: false }
}

/** Returns the share of the rows below the header that are as wide as the header. */
function fitOf({ rows }: Trial, header: number, width: number): number {
  const below = rows.slice(header + 1)
  if (below.length === 0) return 1
  return below.filter(({ cells }) => cells.length === width).length / below.length
}

/** True if a row is clearly the header, and the lines above it are clearly a title or settings. */
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

/** True if a cell is a name, all filled cells below it are numbers, and no cell above it is a number. */
function startsNumbers(trial: Trial, at: number, index: number): boolean {
  const [header, ...rows] = rowsFrom(trial, at)
  if (!isName(header?.[index] ?? '')) return false
  const filled = rows.map((cells) => cells[index] ?? '').filter((cell) => !isGap(cell))
  const above = trial.rows.slice(0, at).some(({ cells }) => isNumber(cells[index] ?? ''))
  return !above && filled.length > 0 && filled.every(isNumber)
}

const code = /^[a-z]{2}$/

/** True if a record has a figure, a code in a column of codes, or a cell that recurs in a later row. */
function isClearlyRow(trial: Trial, at: number): boolean {
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
    return codes || (isFilled(cell) && below.includes(cell))
  })
}

/** Rejects a first line that may be a header, because the name of the column would be bought as a query. */
function refuseNames(trial: Trial, shown: string, number: number): void {
  const at = Math.max(
    trial.rows.findIndex(({ cells }) => filledCells(cells).length > 1),
    0,
  )
  if (isClearlyRow(trial, at)) return
  const row = trial.rows[at]
  const cells = row?.cells ?? []
  throw new Misuse(
    `${placeOf(shown, row)}: expected numbers in the first row, or names above columns of numbers, got ${showRow(cells)}, which may be a header or a row; use --column ${show(cells[number] ?? '')} if it is the header, or --no-header --column ${number + 1} if it is a row`,
  )
}

/** True if most rows repeat the supposed column name, such as "q", so it is a label, not a header. */
function comesAgain({ rows }: Trial, at: number, reading: ReturnType<typeof readHeader>): boolean {
  if (reading.kind !== 'columns') return false
  const header = rows[at]?.cells ?? []
  const { query } = reading.columns
  const others = rows.filter(({ cells }, index) => index !== at && cells.length === header.length)
  return others.filter(({ cells }) => cells[query] === header[query]).length * 2 > others.length
}

/** True if a record contains a known column name, or a word above a column of numbers, URLs or similar data. */
function looksLikeHeader(trial: Trial, at: number): boolean {
  const { rows } = trial
  const cells = rows[at]?.cells ?? []
  const reading = readHeader(cells, undefined)
  if (reading.kind !== 'none' && !comesAgain(trial, at, reading)) return true
  // If the delimiter is wrong, a row of numbers may look like a single number.
  if (cells.length < 2) return false
  const block = rows.slice(
    rows.findLastIndex(({ begins }, index) => begins && index <= at),
    at,
  )
  const isAlike = (row: TrialRow): boolean => row.cells.length === cells.length
  // Below the header, a word such as "n/a" in a column of numbers marks a missing value. A title padded with blank
  // cells is not a row.
  if (block.some((row) => isAlike(row) && filledCells(row.cells).length > 1)) return false
  const below = rows.slice(at + 1, at + 50).filter(isAlike)
  const areFigures = (index: number): boolean =>
    below.map((row) => row.cells[index] ?? '').every((cell) => isNumber(cell) || isThing(cell))
  return (
    below.length > 0 &&
    cells.some((cell, index) => isName(cell) && !isThing(cell) && areFigures(index))
  )
}

function isName(cell: string): boolean {
  return !isNumber(cell) && !isGap(cell)
}

/** True for numbers other than years, which may be column names. */
function isFigure(cell: string): boolean {
  return isNumber(cell) && !/^\s*20\d\d\s*$/.test(cell)
}

/** Counts the cells of a record up to the last filled cell. */
function filledWidth(cells: readonly string[]): number {
  return cells.findLastIndex(isFilled) + 1
}

type Trial = ReturnType<typeof tryOut>
type TrialRow = Trial['rows'][number]

/** Returns the given delimiter or, by default, all common delimiters. */
export function wantedDelimiters(typed: string | undefined): readonly (string | null)[] {
  if (typed === undefined) return [...Object.values(delimiterNames), null]
  if (typed.toLowerCase() === 'none') return [null]
  const named = typed.toLowerCase() === '\\t' ? 'tab' : typed.toLowerCase()
  const delimiter = delimiterNames[named] ?? typed
  if (delimiter.length === 1 && !/["\r\n\w]/.test(delimiter)) return [delimiter]
  throw new Misuse(
    `expected --delimiter to be a single character or one of the words comma, semicolon, tab, pipe and none, got ${JSON.stringify(typed)}`,
  )
}

function typedDelimiter(delimiter: string | null): string {
  const name = Object.entries(delimiterNames).find(([, sign]) => sign === delimiter)
  return name?.[0] ?? delimiter ?? 'none'
}

/**
 * Splits the start of a list at the given delimiter. A row `begins` a block if it is the first row or follows a blank
 * line. `broken` contains the numbers of the lines that can't be split. Line 0 contains the names of JSON fields.
 */
export function tryOut(
  head: Buffer,
  delimiter: string | null,
  { comments, firstLine }: Partial<ReadOptions> = {},
) {
  const { records, broken } = new Cutter(delimiter, '', firstLine).push(head, true)
  const kept = records.filter(({ cells: [first = ''] }) => comments !== 'skip' || !isComment(first))
  const rows = kept.flatMap(({ cells, line }, at) =>
    isBlank(cells) ? [] : [{ cells, line, begins: isBlank(kept[at - 1]?.cells ?? []) }],
  )
  return { delimiter, rows, broken: broken.map(({ line }) => line) }
}

function placeOf(shown: string, row: TrialRow | undefined): string {
  return `${shown}:${Math.max(row?.line ?? 1, 1)}`
}

function showRow(cells: readonly string[]): string {
  return cells.slice(0, 12).map(show).join(', ')
}

/** True if the delimiter is punctuation followed by a space. Vertical bars usually have spaces on both sides. */
function isProse(rows: readonly (readonly string[])[]): boolean {
  if (rows.every((cells) => cells.slice(0, -1).every((cell) => /\s$/.test(cell)))) return false
  return rows.every((cells) => cells.slice(1).every((cell) => cell.startsWith(' ')))
}

/** True if the delimiter splits this share of the rows into the same number of cells, and is not just punctuation. */
export function divides({ delimiter, rows }: Trial, share = 0.5): boolean {
  const width = widthOf(rows)
  if (delimiter === null || width < 2) return false
  const same = rows.map(({ cells }) => cells).filter(({ length }) => length === width)
  return same.length >= rows.length * share && !isProse(same)
}

/** Returns the first row that is as wide as most rows, the rows below it, and the columns that may contain queries. */
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

/** Returns the most common number of cells per row. */
function widthOf(rows: readonly TrialRow[]): number {
  const counts = new Map<number, number>()
  for (const { cells } of rows) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one)
  return most?.[0] ?? 0
}

/** True if most rows have an equal number of cells (at least three). Such rows form a table, and are not queries. */
function isReport({ rows }: Trial): boolean {
  const width = widthOf(rows)
  return width > 2 && rows.filter(({ cells }) => cells.length === width).length > rows.length / 2
}
