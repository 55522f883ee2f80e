import { Misuse } from '../errors.ts'
import { show } from './columns.ts'
import { isBlank, mostCommonWidth, type Trial } from './trial.ts'

/** Says what stands where a column of queries was expected, and which columns might be meant. */
export function noQueryColumn(shown: string, trial: Trial, column: string | undefined): Misuse {
  const width = mostCommonWidth(trial.records.filter((cells) => !isBlank(cells)))
  const at = trial.records.findIndex((cells) => !isBlank(cells) && cells.length === width)
  const header = trial.records[at] ?? []
  const expected =
    column === undefined
      ? 'a column of queries (named q, query, keyword or as an export names it)'
      : `a column ${JSON.stringify(column)}`
  const rows = trial.records.slice(at + 1, at + 50)
  const texts = header.filter((_, index) => rows.some((row) => isText(row[index] ?? '')))
  const hint =
    texts.length === 0
      ? 'no column of it holds text'
      : `columns of text that would do: ${texts.slice(0, 12).map(show).join(', ')}; name one with --column if it holds queries`
  const more = header.length > 12 ? ` and ${header.length - 12} more` : ''
  const plain = width <= 2 ? '; type --delimiter none if each line is one query' : ''
  return new Misuse(
    `${shown}:${trial.lines[at] ?? 1}: expected ${expected}, got the header ${header.slice(0, 12).map(show).join(', ')}${more}; ${hint}${plain}`,
  )
}

function isText(cell: string): boolean {
  return /\p{L}/u.test(cell) && !/^\s*https?:\/\//i.test(cell)
}
