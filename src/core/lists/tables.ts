// Selects a table of a spreadsheet or archive.

import { Misuse } from '../../base/errors.ts'
import { leastScore, scoreColumns } from './column-score.ts'
import { plainName, show } from './columns.ts'
import { openList, type ReadOptions } from './read.ts'
import { peek, type Source } from './source.ts'
import { dividesRows, isBlank, mostCommonWidth, tryOut, wantedDelimiters } from './trial.ts'

/** A table inside an archive. */
export interface Table {
  readonly name: string
  /** True for a hidden sheet. */
  readonly hidden: boolean
  readonly size: number
  readonly chunks: () => AsyncGenerator<Buffer>
  readonly hiddenRows?: ReadonlySet<number>
}

interface Choice {
  readonly opened: (table: Table) => Source
  readonly options: ReadOptions
}

interface Judged {
  readonly table: Table
  readonly columns: readonly string[]
  /** Why it can't be read as it is; null for a list with a header. */
  readonly problem: Misuse | null
}

const mostTables = 200

/** Returns the only table that may be meant; rejects several, or one that can't be read. */
export async function chooseTable(
  tables: readonly Table[],
  shown: string,
  choice: Choice,
): Promise<Table> {
  if (tables.length > mostTables) {
    throw new Misuse(
      `expected at most ${mostTables} tables in ${shown}, got ${tables.length}; name one with --sheet`,
    )
  }
  const meant: Judged[] = []
  for (const table of tables) {
    const judged = await judge(table, choice)
    if (judged !== null) meant.push(judged)
  }
  const [only, another] = meant
  if (only === undefined) {
    throw new Misuse(
      `expected a table with a column of queries in ${shown}, got ${namesOf(tables)}; name one with --sheet, and its column with --column`,
    )
  }
  if (another === undefined) {
    if (only.problem === null) return only.table
    throw only.problem
  }
  const found = meant.slice(0, 20).map(({ table, columns }) => {
    const cells = columns.slice(0, 6).map(show)
    return `${JSON.stringify(table.name)} (${cells.join(', ')}${columns.length > 6 ? ', …' : ''})`
  })
  const more = meant.length > 20 ? ` and ${meant.length - 20} more` : ''
  throw new Misuse(
    `expected one table with queries in ${shown}, got ${found.join(', ')}${more}; type --sheet ${JSON.stringify(only.table.name)} or the name of another`,
  )
}

/** Formats table names for a message. */
export function namesOf(tables: readonly Table[]): string {
  const names = tables
    .slice(0, 20)
    .map(({ name, hidden }) => `${JSON.stringify(name)}${hidden ? ' (hidden)' : ''}`)
  return `${names.join(', ')}${tables.length > 20 ? ` and ${tables.length - 20} more` : ''}`
}

/** Null for a table that is clearly not a list of queries. */
async function judge(table: Table, { opened, options }: Choice): Promise<Judged | null> {
  const source = opened(table)
  const columns = await beginningOf(opened(table), options)
  try {
    const { heading } = await openList(source, options)
    const { header, headerLine } = heading.dialect
    if (headerLine !== null) return { table, columns: header, problem: null }
    if (columns === null) return null
    const problem = new Misuse(
      `expected a table with a column of queries in ${source.shown}, got one without names; type --sheet ${JSON.stringify(table.name)} if each line of it is one query`,
    )
    return { table, columns, problem }
  } catch (error) {
    if (!(error instanceof Misuse)) throw error
    return columns === null ? null : { table, columns, problem: error }
  }
}

// First column of other tables that exports include next to their queries.
const otherTables: ReadonlySet<string> = new Set(
  'filter,filters,filtre,filtres,filtro,filtros,filtr,filtry,suodatin,фильтр,фільтр,フィルタ,フィルタ名,필터,过滤器,篩選器,search appearance,darstellung in der suche,apparence dans les résultats de recherche,aspecto de la búsqueda,aspetto nella ricerca,page,pages,top pages,date,dates,device,devices,country,countries,setting,settings,legend,readme,about'.split(
    ',',
  ),
)

/** First cells of a table that may be a list; null if no column contains possible queries. */
async function beginningOf(source: Source, options: ReadOptions): Promise<string[] | null> {
  const { head } = await peek(source.chunks, 64 * 1024)
  // It does not matter here if letters are decoded in the wrong encoding.
  const utf16 = head[0] === 0xff || head[1] === 0
  const text = Buffer.from(head.toString(utf16 ? 'utf16le' : 'utf8').replace(/^\ufeff/u, ''))
  const trials = wantedDelimiters(options.delimiter).map((delimiter) => tryOut(text, delimiter))
  const divided = trials.find((trial) => dividesRows(trial, { afterLine: 0, least: 0, share: 0.5 }))
  const records = (divided ?? trials.at(-1))?.records.filter((cells) => !isBlank(cells)) ?? []
  const width = mostCommonWidth(records)
  const [header = [], ...rows] = records.slice(
    Math.max(
      0,
      records.findIndex((cells) => cells.length >= width),
    ),
  )
  if (rows.length === 0 || otherTables.has(plainName(header[0] ?? ''))) return null
  const texts = scoreColumns(rows, width)
  return (texts[0]?.score ?? 0) > leastScore
    ? [...header].filter((cell) => cell.trim() !== '')
    : null
}
