// Detects the delimiter and the header from the first lines of a list.

import { Misuse } from '../../base/errors.ts'
import { devices } from '../../base/query.ts'
import { columnNumber, type Columns, type Dialect, plainColumns, show } from './columns.ts'
import { refuseUnlikelyPlain } from './foreign.ts'
import { type Candidate, findHeader, isClearlyRow, refuseNames, unclearHeader } from './header.ts'
import { mapColumns } from './mapping.ts'
import { checkDevice } from './values.ts'
import {
  divides,
  isReport,
  type ListOptions,
  looksLikeHeader,
  placeOf,
  showRow,
  tableOf,
  type Trial,
  type TrialRow,
  tryOut,
  typedDelimiter,
  wantedDelimiters,
  widthOf,
} from './trial.ts'

/** How a list is to be read: split with a delimiter, under a header or none. */
interface Choice {
  readonly trial: Trial
  readonly row: TrialRow | null
  readonly columns: Columns
}

/**
 * Detects delimiter and header from the first lines of a list, and returns the rows below; rejects ambiguous lists
 * instead of guessing.
 */
export function findDialect(
  head: Buffer,
  shown: string,
  options: ListOptions,
): { readonly dialect: Dialect; readonly rows: readonly (readonly string[])[] } {
  const trials = wantedDelimiters(options.delimiter).map((delimiter) =>
    tryOut(head, delimiter, options),
  )
  const chosen =
    options.header === false
      ? withoutNames(trials, shown, options)
      : findNames(trials, shown, options)
  const { rows, delimiter } = chosen.trial
  const header = chosen.row?.cells ?? []
  const columns = mapColumns(chosen.columns, header, { ...options, shown })
  refuseSegments(chosen.trial, shown, { header, columns })
  const plain = delimiter === null && header.length === 0
  const free = options.header !== false && options.delimiter === undefined
  if (plain && free && options.column === undefined) refuseUnlikelyPlain(head, shown)
  const headerLine = chosen.row?.line ?? null
  const below = rows.filter(({ line }) => line > (headerLine ?? 0)).map(({ cells }) => cells)
  return { dialect: { delimiter, headerLine, header, columns }, rows: below }
}

/**
 * Rejects a report that lists each query once per device, with a specific message: the user may not have asked for
 * that.
 */
function refuseSegments(
  trial: Trial,
  shown: string,
  { header, columns: { query, others } }: Pick<Dialect, 'header' | 'columns'>,
): void {
  const device = others.find(({ role, asked }) => role === 'device' && asked !== true)?.index
  if (device === undefined) return
  const isReported = (cell = ''): boolean => checkDevice(cell).ok && !deviceNames.has(cell.trim())
  const all = trial.rows.map(({ cells }) => cells)
  const rows = all.filter((cells) => isReported(cells[device]))
  if (new Set(rows.map((cells) => cells[query])).size === rows.length) return
  const name = JSON.stringify(`${header[device]?.trim() ?? device + 1}=`).slice(0, -1)
  throw new Misuse(
    `expected each query once in ${shown}, got a report that repeats them for each ${show(header[device] ?? 'device')}, such as ${show(rows[0]?.[device] ?? '')}; type --map ${name}none" to ask each query once, or --map ${name}device" to ask it for each device`,
  )
}

const deviceNames: ReadonlySet<string> = new Set(['', ...devices])

function findNames(trials: readonly Trial[], shown: string, options: ListOptions): Choice {
  const candidates = trials.flatMap((trial) => findHeader(trial, shown, options) ?? [])
  const wide = candidates.filter(({ columns }) => columns.width > 1)
  const [best, second] = wide.toSorted((one, other) => other.fit - one.fit)
  if (best !== undefined && second !== undefined && second.fit >= best.fit / 2) {
    throw unclear(shown, best, second)
  }
  const found = best ?? candidates[0]
  if (found === undefined) return withoutHeader(trials, shown, options)
  if (!found.clear) throw unclearHeader(shown, found)
  return found === best ? found : singleColumn(found, trials, { shown, options })
}

function unclear(shown: string, { trial, row }: Candidate, other: Candidate): Misuse {
  const signs = `${JSON.stringify(trial.delimiter)} and ${JSON.stringify(other.trial.delimiter)}`
  return new Misuse(
    `${placeOf(shown, row)}: expected one delimiter, got ${signs} that both fit; say which with --delimiter`,
  )
}

/** For a header of one cell, the rows must also have one cell; otherwise the delimiter is ambiguous. */
function singleColumn(
  { trial, row, columns }: Candidate,
  trials: readonly Trial[],
  { shown, options }: { shown: string; options: ListOptions },
): Choice {
  if (options.delimiter !== undefined) return { trial, row, columns }
  const divided = trials.find(({ delimiter, rows }) => {
    const below = rows.filter(({ line }) => line > row.line)
    return divides(delimiter, below, { least: 1, share: 0.8 })
  })
  if (divided === undefined) return { trial: tryNone(trials), row, columns }
  throw new Misuse(
    `${shown}:${row.line}: expected rows of one cell under a header of one cell, got rows that ${JSON.stringify(divided.delimiter)} would divide; say --delimiter none if each line is one query`,
  )
}

/** The trial without a delimiter, or the one with the typed delimiter. */
function tryNone(trials: readonly Trial[]): Trial {
  const trial = trials.find(({ delimiter }) => delimiter === null) ?? trials[0]
  if (trial === undefined) throw new Error('expected a trial, got none')
  return trial
}

/** No cell names a query column: accepted for a plain list of lines, rejected otherwise. */
function withoutHeader(trials: readonly Trial[], shown: string, options: ListOptions): Choice {
  const divided = trials.filter(({ delimiter, rows }) => divides(delimiter, rows))
  const [table, another] = divided.length > 0 ? divided : trials.filter(isReport)
  const number = columnNumber(options.column)
  if (number !== undefined && table !== undefined && another === undefined) {
    const width = widthOf(table.rows)
    if (number >= width) {
      throw new Misuse(
        `${shown}: expected --column from 1 to ${width}, got ${number + 1}; count the cells of a row`,
      )
    }
    refuseNames(table, shown, number)
    return { trial: table, row: null, columns: plainColumns(number, width) }
  }
  const { column } = options
  if (table !== undefined || (column !== undefined && number !== 0)) {
    const trial = table ?? trials[0] ?? tryNone(trials)
    throw noQueryColumn(shown, trial, { column, severalFit: another !== undefined })
  }
  return { trial: tryNone(trials), row: null, columns: plainColumns(0, 1) }
}

/** Splits a list whose first line is a row, as specified by the user. */
function withoutNames(trials: readonly Trial[], shown: string, options: ListOptions): Choice {
  const [table, another] = trials.filter(({ delimiter, rows }) => divides(delimiter, rows))
  if (another !== undefined) {
    throw new Misuse(
      `${shown}: expected one delimiter, got several that fit; say which with --delimiter`,
    )
  }
  const trial = table ?? tryNone(trials)
  const cut = table !== undefined || options.delimiter !== undefined
  const width = cut ? Math.max(1, widthOf(trial.rows)) : 1
  const first = trial.rows[0]?.cells ?? []
  const query = columnOf(options.column, { shown, width, first })
  return { trial, row: null, columns: plainColumns(query, width) }
}

function columnOf(
  wanted: string | undefined,
  { shown, width, first }: { shown: string; width: number; first: readonly string[] },
): number {
  if (wanted === undefined && width === 1) return 0
  const number = columnNumber(wanted)
  if (number !== undefined && number < width) return number
  const cells = first.slice(0, 12).map((cell, index) => `${index + 1} ${show(cell)}`)
  throw new Misuse(
    `${shown}: expected --column with the number of the column of queries beside --no-header, got ${wanted === undefined ? 'none' : show(wanted)}; the first row is ${cells.join(', ')}`,
  )
}

/** A column that scores less than this share of the best one holds labels such as "high" and "low". */
const likelyShare = 0.75

interface Asked {
  readonly column: string | undefined
  /** True if other delimiters would split the list too. */
  readonly severalFit: boolean
}

/** Describes what was found instead of a query column, and which columns might be meant. */
function noQueryColumn(shown: string, trial: Trial, { column, severalFit }: Asked): Misuse {
  const { at, width, header, texts } = tableOf(trial)
  const expected =
    column === undefined
      ? 'a column of queries (named q, query, keyword or as an export names it)'
      : `a column ${JSON.stringify(column)}`
  const [best] = texts
  const isRow = best !== undefined && isClearlyRow(trial, at)
  const got = `${isRow ? 'the row' : 'the first line'} ${showRow(header)}`
  const more = header.length > 12 ? ` and ${header.length - 12} more` : ''
  const hints: string[] = []
  if (best === undefined) hints.push('no column of it holds text')
  else if (!isRow) {
    const likely = texts.filter(({ score }) => score >= best.score * likelyShare)
    const names = showRow(likely.map(({ index }) => header[index] ?? ''))
    hints.push(
      `columns of text that would do: ${names}; name one with --column if it holds queries`,
    )
  }
  // Naming a column makes its line the header, so a query in that line would be lost.
  if (best !== undefined && header.length > 1 && !looksLikeHeader(trial, at)) {
    const delimiter = severalFit ? `--delimiter ${typedDelimiter(trial.delimiter)} ` : ''
    hints.push(`if the file has no header, type ${delimiter}--no-header --column ${best.index + 1}`)
  }
  if (width <= 2 && texts.length === width) {
    hints.push('type --delimiter none if each line is one query')
  }
  return new Misuse(
    `${placeOf(shown, trial.rows[at])}: expected ${expected}, got ${[`${got}${more}`, ...hints].join('; ')}`,
  )
}
