import { Misuse } from '../shared/errors.ts'
import { show } from './columns.ts'
import { isClearlyRow } from './header.ts'
import { isBlank, looksLikeHeader, mostCommonWidth, typedDelimiter, type Trial } from './trial.ts'

/** What was asked for when no column of queries was found. */
interface Asked {
  readonly column: string | undefined
  /** True: other delimiters would divide the list too. */
  readonly severalFit: boolean
}

/** Says what stands where a column of queries was expected, and which columns might be meant. */
export function noQueryColumn(shown: string, trial: Trial, { column, severalFit }: Asked): Misuse {
  const width = mostCommonWidth(trial.records.filter((cells) => !isBlank(cells)))
  const at = trial.records.findIndex((cells) => !isBlank(cells) && cells.length === width)
  const header = trial.records[at] ?? []
  const expected =
    column === undefined
      ? 'a column of queries (named q, query, keyword or as an export names it)'
      : `a column ${JSON.stringify(column)}`
  const below = trial.records.slice(at + 1, at + 50).filter((cells) => !isBlank(cells))
  const rows = below.length === 0 ? [header] : below
  const texts = [...header.keys()].filter((index) => rows.some((row) => isText(row[index] ?? '')))
  const [first] = texts
  const names = texts.slice(0, 12).map((index) => show(header[index] ?? ''))
  const isRow = first !== undefined && isClearlyRow(trial, at)
  const hint =
    first === undefined
      ? '; no column of it holds text'
      : isRow
        ? ''
        : `; columns of text that would do: ${names.join(', ')}; name one with --column if it holds queries`
  const delimiter = severalFit ? `--delimiter ${typedDelimiter(trial.delimiter)} ` : ''
  // A name makes its line the header: the query that stands there would be lost.
  const headerless =
    first === undefined || header.length < 2 || looksLikeHeader(trial, at)
      ? ''
      : `; if the file has no header, type ${delimiter}--no-header --column ${first + 1}`
  const more = header.length > 12 ? ` and ${header.length - 12} more` : ''
  const plain = width <= 2 ? '; type --delimiter none if each line is one query' : ''
  return new Misuse(
    `${shown}:${trial.lines[at] ?? 1}: expected ${expected}, got ${isRow ? 'the row' : 'the first line'} ${header.slice(0, 12).map(show).join(', ')}${more}${hint}${headerless}${plain}`,
  )
}

function isText(cell: string): boolean {
  return /\p{L}/u.test(cell) && !/^\s*https?:\/\//i.test(cell)
}
