// Detects the delimiter and the header from the first lines of a list.

import { Misuse } from '../../base/errors.ts'
import { devices } from '../../base/query.ts'
import { scoreColumns } from './column-score.ts'
import { columnNumber, type Dialect, plainColumns, show } from './columns.ts'
import { refuseUnlikelyPlain } from './foreign.ts'
import { type Candidate, findHeader, isClearlyRow, refuseNames, unclearHeader } from './header.ts'
import { mapColumns } from './mapping.ts'
import { checkDevice } from './values.ts'
import {
  dividesRows,
  isBlank,
  isReport,
  lineAt,
  looksLikeHeader,
  mostCommonWidth,
  type Trial,
  tryOut,
  typedDelimiter,
  wantedDelimiters,
  type ListOptions,
} from './trial.ts'

/** Detects delimiter and header from the first lines of a list; rejects ambiguous ones instead of guessing. */
export function findDialect(head: Buffer, shown: string, options: ListOptions): Dialect {
  const trials = wantedDelimiters(options.delimiter).map((delimiter) =>
    tryOut(head, delimiter, options),
  )
  const dialect =
    options.header === false
      ? withoutNames(trials, shown, options)
      : findNames(trials, shown, options)
  const { delimiter, header, columns } = dialect
  const found = mapColumns(columns, header, { ...options, shown })
  const trial = trials.find((one) => one.delimiter === delimiter)
  if (trial !== undefined) refuseSegments(trial, shown, { header, columns: found })
  const plain = delimiter === null && header.length === 0
  const free = options.header !== false && options.delimiter === undefined
  if (plain && free && options.column === undefined) refuseUnlikelyPlain(head, shown)
  return { ...dialect, columns: found }
}

/**
 * Rejects a report that lists each query once per device, with a specific message: the user may not have asked for
 * that.
 */
function refuseSegments(
  { records }: Trial,
  shown: string,
  { header, columns: { query, others } }: Pick<Dialect, 'header' | 'columns'>,
): void {
  const device = others.find(({ role, asked }) => role === 'device' && asked !== true)?.index
  if (device === undefined) return
  const isReported = (cell = ''): boolean => checkDevice(cell).ok && !deviceNames.has(cell.trim())
  const rows = records.filter((cells) => isReported(cells[device]))
  if (new Set(rows.map((cells) => cells[query])).size === rows.length) return
  const name = JSON.stringify(`${header[device]?.trim() ?? device + 1}=`).slice(0, -1)
  throw new Misuse(
    `expected each query once in ${shown}, got a report that repeats them for each ${show(header[device] ?? 'device')}, such as ${show(rows[0]?.[device] ?? '')}; type --map ${name}none" to ask each query once, or --map ${name}device" to ask it for each device`,
  )
}

const deviceNames: ReadonlySet<string> = new Set(['', ...devices])

function findNames(trials: readonly Trial[], shown: string, options: ListOptions): Dialect {
  const candidates = trials.flatMap((trial) => findHeader(trial, shown, options) ?? [])
  const wide = candidates.filter(({ columns }) => columns.width > 1)
  const [best, second] = wide.toSorted((one, other) => other.fit - one.fit)
  if (best !== undefined) {
    if (second !== undefined && second.fit >= best.fit / 2) throw unclear(shown, best, second)
    if (!best.clear) throw unclearHeader(shown, best)
    return dialectOf(best)
  }
  const [narrow] = candidates
  if (narrow?.clear === false) throw unclearHeader(shown, narrow)
  if (narrow !== undefined) return singleColumn(narrow, trials, { shown, options })
  return withoutHeader(trials, shown, options)
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
    `${shown}:${lineAt(one.trial, one.at)}: expected one delimiter, got ${names} that both fit; say which with --delimiter`,
  )
}

/** For a header of one cell, the rows must also have one cell; otherwise the delimiter is ambiguous. */
function singleColumn(
  narrow: Candidate,
  trials: readonly Trial[],
  { shown, options }: { shown: string; options: ListOptions },
): Dialect {
  const plain = options.delimiter === undefined ? tryNone(trials) : narrow.trial
  const from = narrow.trial.lines[narrow.at] ?? 0
  const divided = trials.find((trial) =>
    dividesRows(trial, { afterLine: from, least: 1, share: 0.8 }),
  )
  if (divided !== undefined && options.delimiter === undefined) {
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

/** No cell names a query column: accepted for a plain list of lines, rejected otherwise. */
function withoutHeader(trials: readonly Trial[], shown: string, options: ListOptions): Dialect {
  const divided = trials.filter((trial) =>
    dividesRows(trial, { afterLine: 0, least: 0, share: 0.5 }),
  )
  const tables = divided.length > 0 ? divided : trials.filter(({ records }) => isReport(records))
  const [table, another] = tables
  const number = columnNumber(options.column)
  if (number !== undefined && table !== undefined && another === undefined) {
    const width = mostCommonWidth(table.records.filter((cells) => !isBlank(cells)))
    if (number >= width) {
      throw new Misuse(
        `${shown}: expected --column from 1 to ${width}, got ${number + 1}; count the cells of a row`,
      )
    }
    refuseNames(table, shown, number)
    const columns = plainColumns(number, width)
    return { delimiter: table.delimiter, headerLine: null, header: [], columns }
  }
  const { column, delimiter } = options
  if (table !== undefined || (column !== undefined && number !== 0)) {
    const trial = table ?? trials[0] ?? tryNone(trials)
    throw noQueryColumn(shown, trial, { column, severalFit: another !== undefined })
  }
  const plain = delimiter === undefined ? tryNone(trials) : (trials[0] ?? tryNone(trials))
  return { delimiter: plain.delimiter, headerLine: null, header: [], columns: plainColumns(0, 1) }
}

/** Splits a list whose first line is a row, as specified by the user. */
function withoutNames(trials: readonly Trial[], shown: string, options: ListOptions): Dialect {
  const divided = trials.filter((trial) =>
    dividesRows(trial, { afterLine: 0, least: 0, share: 0.5 }),
  )
  const [table, another] = divided
  if (another !== undefined) {
    throw new Misuse(
      `${shown}: expected one delimiter, got several that fit; say which with --delimiter`,
    )
  }
  const trial = table ?? trials.find(({ delimiter }) => delimiter === null) ?? trials[0]
  if (trial === undefined) throw new Error('expected a trial, got none')
  const rows = trial.records.filter((cells) => !isBlank(cells))
  const cut = table !== undefined || options.delimiter !== undefined
  const width = cut ? Math.max(1, mostCommonWidth(rows)) : 1
  const query = columnOf(options.column, { shown, width, first: rows[0] ?? [] })
  return {
    delimiter: trial.delimiter,
    headerLine: null,
    header: [],
    columns: plainColumns(query, width),
  }
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
  const width = mostCommonWidth(trial.records.filter((cells) => !isBlank(cells)))
  const at = trial.records.findIndex((cells) => !isBlank(cells) && cells.length === width)
  const header = trial.records[at] ?? []
  const expected =
    column === undefined
      ? 'a column of queries (named q, query, keyword or as an export names it)'
      : `a column ${JSON.stringify(column)}`
  const below = trial.records.slice(at + 1, at + 200).filter((cells) => !isBlank(cells))
  const texts = scoreColumns(below.length === 0 ? [header] : below, header.length)
  const [{ index: first, score: best } = { index: undefined, score: 0 }] = texts
  const likely = texts.filter(({ score }) => score >= best * likelyShare)
  const names = likely.slice(0, 12).map(({ index }) => show(header[index] ?? ''))
  const isRow = first !== undefined && isClearlyRow(trial, at)
  const hint =
    first === undefined
      ? '; no column of it holds text'
      : isRow
        ? ''
        : `; columns of text that would do: ${names.join(', ')}; name one with --column if it holds queries`
  const delimiter = severalFit ? `--delimiter ${typedDelimiter(trial.delimiter)} ` : ''
  // Naming a column makes its line the header, so a query in that line would be lost.
  const headerless =
    first === undefined || header.length < 2 || looksLikeHeader(trial, at)
      ? ''
      : `; if the file has no header, type ${delimiter}--no-header --column ${first + 1}`
  const more = header.length > 12 ? ` and ${header.length - 12} more` : ''
  const plain =
    width <= 2 && texts.length === width ? '; type --delimiter none if each line is one query' : ''
  return new Misuse(
    `${shown}:${lineAt(trial, at)}: expected ${expected}, got ${isRow ? 'the row' : 'the first line'} ${header.slice(0, 12).map(show).join(', ')}${more}${hint}${headerless}${plain}`,
  )
}
