import { Misuse } from '../shared/errors.ts'
import { columnNumber, plainColumns, type Dialect } from './columns.ts'
import { refuseUnlikelyPlain } from './foreign.ts'
import { findHeader, refuseNames, unclearHeader, type Candidate } from './header.ts'
import { mapColumns } from './mapping.ts'
import { withoutNames } from './no-header.ts'
import { noQueryColumn } from './no-query-column.ts'
import {
  dividesRows,
  holdsNoQueries,
  isBlank,
  isReport,
  mostCommonWidth,
  tryOut,
  wantedDelimiters,
  type Trial,
  type Wishes,
} from './trial.ts'

/** Finds delimiter and header on the first lines of a list; what stays unclear is refused, never guessed. */
export function findDialect(head: Buffer, shown: string, wishes: Wishes): Dialect {
  const trials = wantedDelimiters(wishes.delimiter).map((delimiter) => tryOut(head, delimiter))
  const dialect =
    wishes.header === false ? withoutNames(trials, shown, wishes) : findNames(trials, shown, wishes)
  const { delimiter, header, columns } = dialect
  const plain = delimiter === null && header.length === 0
  const free = wishes.header !== false && wishes.delimiter === undefined
  if (plain && free && wishes.column === undefined) refuseUnlikelyPlain(head, shown)
  return { ...dialect, columns: mapColumns(columns, header, { ...wishes, shown }) }
}

function findNames(trials: readonly Trial[], shown: string, wishes: Wishes): Dialect {
  const candidates = trials.flatMap((trial) => findHeader(trial, shown, wishes) ?? [])
  const wide = candidates.filter(({ columns }) => columns.width > 1)
  const [best, second] = wide.toSorted((one, other) => other.fit - one.fit)
  if (best !== undefined) {
    if (second !== undefined && second.fit >= best.fit / 2) throw unclear(shown, best, second)
    if (!best.clear) throw unclearHeader(shown, best)
    return dialectOf(best)
  }
  const [narrow] = candidates
  if (narrow?.clear === false) throw unclearHeader(shown, narrow)
  if (narrow !== undefined) return singleColumn(narrow, trials, { shown, wishes })
  return withoutHeader(trials, shown, wishes)
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
  const tables = divided.length > 0 ? divided : trials.filter(({ records }) => isReport(records))
  const [table, another] = tables
  const number = columnNumber(wishes.column)
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
  const { column, delimiter } = wishes
  if (table !== undefined || (column !== undefined && number !== 0)) {
    const trial = table ?? trials[0] ?? tryNone(trials)
    throw noQueryColumn(shown, trial, { column, severalFit: another !== undefined })
  }
  const plain = delimiter === undefined ? tryNone(trials) : (trials[0] ?? tryNone(trials))
  // Who types a delimiter has said what a line is.
  if (delimiter === undefined && holdsNoQueries(plain)) {
    throw noQueryColumn(shown, plain, { column, severalFit: false })
  }
  return { delimiter: plain.delimiter, headerLine: null, header: [], columns: plainColumns(0, 1) }
}
