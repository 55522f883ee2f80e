import type { Heading } from '../../lists/read.ts'

/** How a list was read, as a program reads it. */
export interface ReadingReport {
  readonly encoding: string
  /** Given by a person, told by a mark, or proven by the bytes themselves; a guess is never read. */
  readonly encoding_by: 'given' | 'mark' | 'proven' | 'guessed'
  readonly delimiter: string | null
  readonly header_line: number | null
  /** Which column became what; names are null where there is no header. */
  readonly columns: readonly {
    readonly column: number
    readonly name: string | null
    readonly means: string
  }[]
  readonly ignored: readonly string[]
}

/** What a program is told of how a list was read. */
export function readingReport({ encoding, dialect, verdict }: Heading): ReadingReport {
  const { delimiter, headerLine, header, columns } = dialect
  const used = columns.others.filter(({ index }) => !verdict.ignored.has(index))
  const name = (index: number): string | null => header[index]?.trim() ?? null
  const query = { index: columns.query, role: 'query' }
  return {
    encoding: encoding.label,
    encoding_by: encoding.how,
    delimiter,
    header_line: headerLine,
    columns: [query, ...used]
      .toSorted((a, b) => a.index - b.index)
      .map(({ index, role }) => ({ column: index + 1, name: name(index), means: role })),
    ignored: [
      ...columns.ignored.map((cell) => cell.trim()),
      ...[...verdict.ignored.keys()].map((index) => name(index) ?? String(index + 1)),
    ],
  }
}

const delimiterWords = new Map<string | null, string>([
  [',', 'commas'],
  [';', 'semicolons'],
  ['\t', 'tabs'],
  ['|', 'bars'],
])

/** How a list was read, in a phrase. */
export function readingPhrase({ encoding, dialect, verdict }: Heading): string {
  const { delimiter, headerLine, header, columns } = dialect
  const divided =
    delimiter === null
      ? 'one query a line'
      : `divided by ${delimiterWords.get(delimiter) ?? JSON.stringify(delimiter)}`
  const query = header[columns.query]?.trim()
  const column = columns.width > 1 ? `, queries from column ${columns.query + 1}` : ''
  const from =
    headerLine === null || query === undefined
      ? `no header${column}`
      : `queries from ${JSON.stringify(query)} (header on line ${headerLine})`
  const named = columns.others
    .filter(({ index }) => !verdict.ignored.has(index))
    .map(({ role, index }) => withName(role === 'target' ? 'target url' : role, header[index]))
  const also = named.length === 0 ? '' : `, with ${named.join(', ')}`
  return `${encoding.label}, ${divided}, ${from}${also}`
}

/** A meaning, with the name of its column where that says something else. */
function withName(meaning: string, name: string | undefined): string {
  const trimmed = name?.trim() ?? ''
  if (trimmed === '' || trimmed.toLowerCase().replaceAll('_', ' ') === meaning) return meaning
  return `${meaning} from ${JSON.stringify(trimmed)}`
}
