import { Misuse } from '../shared/errors.ts'
import { columnNumber, plainColumns, show } from './columns.ts'
import type { Dialect } from './columns.ts'
import { dividesRows, isBlank, mostCommonWidth, type Trial, type Wishes } from './trial.ts'

/** How a list is divided of which a person says that its first line is a row like the others. */
export function withoutNames(trials: readonly Trial[], shown: string, wishes: Wishes): Dialect {
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
  const cut = table !== undefined || wishes.delimiter !== undefined
  const width = cut ? Math.max(1, mostCommonWidth(rows)) : 1
  const query = columnOf(wishes.column, { shown, width, first: rows[0] ?? [] })
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
