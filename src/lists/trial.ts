import { Misuse } from '../errors.ts'
import { Cutter } from './records.ts'

/** The beginning of a list, cut with one delimiter. */
export interface Trial {
  readonly delimiter: string | null
  readonly records: readonly (readonly string[])[]
  readonly lines: readonly number[]
}

const delimiters = [',', ';', '\t', '|'] as const
const delimiterNames: Readonly<Record<string, string>> = {
  comma: ',',
  semicolon: ';',
  tab: '\t',
  '\\t': '\t',
  pipe: '|',
}

/** The delimiters to try: the one that was typed, or all that are usual. */
export function wantedDelimiters(wish: string | undefined): readonly (string | null)[] {
  if (wish === undefined) return [...delimiters, null]
  if (wish.toLowerCase() === 'none') return [null]
  const delimiter = delimiterNames[wish.toLowerCase()] ?? wish
  if (delimiter.length === 1 && !/["\r\n\w]/.test(delimiter)) return [delimiter]
  throw new Misuse(
    `expected --delimiter to be one character, comma, semicolon, tab, pipe or none, got ${JSON.stringify(wish)}`,
  )
}

/** Cuts the beginning of a list with a delimiter. */
export function tryOut(head: Buffer, delimiter: string | null): Trial {
  const { cells, lines } = new Cutter(delimiter, '').push(head, true)
  const order = [...lines.keys()].toSorted((one, other) => (lines[one] ?? 0) - (lines[other] ?? 0))
  return {
    delimiter,
    records: order.map((index) => cells[index] ?? []),
    lines: order.map((index) => lines[index] ?? 0),
  }
}

/** True for a cell of figures. */
export function isNumber(cell: string): boolean {
  return /^\s*[<>+-]?[\d.,\s]*\d\s*%?\s*$/.test(cell)
}

/** True for a record that holds nothing. */
export function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell.trim() === '')
}

/** True when a delimiter cuts so large a share of the rows into equally many cells, and is no punctuation of prose. */
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
  const prose = same.every((cells) => cells.slice(1).every((cell) => cell.startsWith(' ')))
  return same.length >= rows.length * share && !prose
}

/** The number of cells that most rows have. */
export function mostCommonWidth(rows: readonly (readonly string[])[]): number {
  const counts = new Map<number, number>()
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, one], [, other]) => other - one)
  return most?.[0] ?? 0
}

/** A block of rows of several cells somewhere below: a report, no list of lines. */
export function isReport(records: readonly (readonly string[])[]): boolean {
  const rows = records.filter((cells) => !isBlank(cells))
  const width = mostCommonWidth(rows)
  return width > 2 && rows.filter(({ length }) => length === width).length > rows.length / 2
}

/** True for a list of addresses under whatever first line. */
export function isAddressList({ records }: Trial): boolean {
  const rows = records.filter((cells) => !isBlank(cells)).slice(1)
  return rows.length > 0 && rows.every(([cell]) => /^\s*https?:\/\//i.test(cell ?? ''))
}
