// Opens a list as bytes, from a plain file, a compressed file, or a table of a spreadsheet or an archive.

import { Misuse } from '../../base/errors.ts'
import { leastScore } from './column-score.ts'
import { plainName, show } from './columns.ts'
import { divides, tableOf, tryOut, wantedDelimiters } from './dialect.ts'
import { detectEncoding } from './encoding.ts'
import { readJsonLines } from './json-lines.ts'
import { isOds, odsSheets } from './ods.ts'
import type { ReadOptions } from './options.ts'
import { openList } from './read.ts'
import { sheetLines } from './sheet.ts'
import { openFile, openStream, peek, type Source } from './source.ts'
import { filledCells } from './values.ts'
import { xlsxSheets } from './xlsx.ts'
import { type Archive, gunzipped, openArchive } from './zip.ts'

export type ListBytes =
  | { readonly kind: 'file'; readonly path: string; readonly shown: string }
  | { readonly kind: 'stream'; readonly stream: AsyncIterable<unknown> }

export async function openSource(from: ListBytes, options: ReadOptions): Promise<Source> {
  return (await openTables(from, options, false)).source
}

/** Returns the names of the tables that may be lists. For a file with a single list, the name is undefined. */
export async function everyTableOf(from: ListBytes, options: ReadOptions) {
  const { source, sheets, notices } = await openTables(from, options, true)
  await source.close()
  return { sheets, notices }
}

/** Opens a list, or the first chosen table in a spreadsheet or archive. `every` allows several tables. */
async function openTables(from: ListBytes, options: ReadOptions, every: boolean) {
  const bare =
    from.kind === 'file' ? await openFile(from.path, from.shown) : openStream(from.stream)
  let archive: Archive | null = null
  const close = (): Promise<void> => {
    archive?.close()
    return bare.close()
  }
  try {
    const text = await unwrap(bare, options)
    if (text !== null) return { source: text, sheets: [undefined], notices: [] }
    if (from.kind === 'stream') {
      throw new Misuse(
        'expected text on standard input, got an archive or a spreadsheet; save it to a file and pass the file name',
      )
    }
    archive = await openArchive(from.path, from.shown)
    const opened = async ({ name: sheet, chunks, hiddenRows }: Table): Promise<Source> => {
      const shown = `${from.shown} (${sheet})`
      const part = { sheet, chunks: chunks(), hiddenRows, file: from.shown, shown }
      const inner = await unwrap({ ...bare, ...part }, options)
      if (inner === null) throw packedTwice(shown)
      return inner
    }
    const tables = await tablesOf(archive)
    const chosen = await chooseTables(tables, from.shown, { opened, options, every })
    const left = tables.filter((table) => !chosen.includes(table))
    const isSaid = left.length > 0 && options.sheet === undefined
    const notices = isSaid ? [`tables not read: ${namesOf(left)}; choose one with --sheet`] : []
    const source = { ...(await opened(chosen[0])), notices, close }
    return { source, sheets: chosen.map(({ name }) => name), notices }
  } catch (error) {
    await close()
    throw error
  }
}

/** Unpacks gzip, and converts JSON lines to CSV. Returns null for a spreadsheet or an archive. */
async function unwrap(source: Source, { delimiter }: ReadOptions): Promise<Source | null> {
  const { head, all } = await peek(source.chunks, headSize)
  let text = { ...source, chunks: all }
  const wrapping = wrappingOf(head, source.shown)
  if (wrapping === 'zip') return null
  if (wrapping === 'gzip') {
    const inner = await peek(gunzipped(text), headSize)
    if (wrappingOf(inner.head, source.shown) !== 'none') throw packedTwice(source.shown)
    text = { ...text, chunks: inner.all }
  }
  // If a flag sets the delimiter, JSON lines are not converted.
  return delimiter === undefined ? readJsonLines(text) : text
}

function packedTwice(shown: string): Misuse {
  return new Misuse(
    `expected a list of queries in ${shown}, got an archive or a spreadsheet inside another archive; unpack it first`,
  )
}

async function tablesOf(archive: Archive): Promise<readonly Table[]> {
  const { shown, names, read } = archive
  const isBook = names.includes('xl/workbook.xml')
  if (isBook || (await isOds(archive))) {
    const sheets = await (isBook ? xlsxSheets : odsSheets)(archive)
    return sheets.map((sheet) => {
      const hiddenRows = new Set<number>()
      const chunks = () => sheetLines(archive, sheet, hiddenRows)
      return { name: sheet.name, hidden: sheet.hidden, kind: 'list', chunks, hiddenRows }
    })
  }
  if (names.includes('[Content_Types].xml') || names.includes('mimetype')) {
    throw new Misuse(
      `expected a list of queries in ${shown}, got a document or an unsupported spreadsheet; save its table as .xlsx or CSV`,
    )
  }
  return names
    .filter((name) => !noise.test(name))
    .map((name) => ({
      name,
      hidden: /(?:^|\/)\./.test(name),
      kind: listName.test(name) ? 'list' : documentName.test(name) ? 'document' : 'unknown',
      chunks: () => read(name),
    }))
}

// Files that operating systems add to archives.
const noise = /(?:^|\/)(?:__MACOSX\/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)/i
const listName = /\.(?:csv|tsv|tab|txt|jsonl|ndjson)$/i
const documentName =
  /(?:^|\/)(?:licen[cs]e|notice|readme|changelog)(?:\.\w+)?$|\.(?:md|rst|pdf|docx?|odt|rtf|pptx?|png|jpe?g|gif|svg|webp|ico|css|js|py)$/i

// The signature of a tar archive is further into the file than those of the other formats.
const headSize = 512

/** Unsupported formats, each identified by bytes at an offset, by default at the start of the file. */
const unread: readonly (readonly [bytes: string, name: string, advice: string, at?: number])[] = [
  ['d0cf11e0a1b11ae1', 'an old spreadsheet (.xls)', 'save it as .xlsx or CSV'],
  ['25504446', 'a PDF', 'export its table as CSV'],
  ['377abcaf271c', 'a 7-Zip archive', 'unpack it first'],
  ['526172211a07', 'a RAR archive', 'unpack it first'],
  ['425a68', 'a bzip2 file', 'unpack it first: bunzip2 FILE'],
  ['fd377a585a00', 'an xz file', 'unpack it first: unxz FILE'],
  ['28b52ffd', 'a zstd file', 'unpack it first: unzstd FILE'],
  ['89504e47', 'a picture', 'export its table as CSV'],
  ['ffd8ff', 'a picture', 'export its table as CSV'],
  ['47494638', 'a picture', 'export its table as CSV'],
  ['50415231', 'a Parquet file', 'export its queries as CSV'],
  ['53514c69746520', 'an SQLite database', 'export its queries as CSV'],
  ['7573746172', 'a tar archive', 'unpack it first: tar xf FILE', 257],
  ['7f454c46', 'a program', 'choose a list of queries'],
]

function wrappingOf(head: Buffer, shown: string): 'none' | 'gzip' | 'zip' {
  const start = head.toString('hex', 0, 16)
  if (start.startsWith('1f8b')) return 'gzip'
  if (start.startsWith('504b0304') || start.startsWith('504b0506')) return 'zip'
  const found = unread.find(([bytes, , , at = 0]) => head.toString('hex', at).startsWith(bytes))
  if (found === undefined) return 'none'
  const [, name, advice] = found
  throw new Misuse(`expected a list of queries in ${shown}, got ${name}; ${advice}`)
}

interface Table {
  readonly name: string
  readonly hidden: boolean
  /** Kind of table, as indicated by its name. If the kind is unknown, the contents are examined. */
  readonly kind: 'list' | 'document' | 'unknown'
  readonly chunks: () => AsyncGenerator<Buffer>
  readonly hiddenRows?: ReadonlySet<number>
}

interface Choice {
  readonly opened: (table: Table) => Promise<Source>
  readonly options: ReadOptions
  /** If false, only one table may be chosen. */
  readonly every: boolean
}

interface Judged {
  readonly table: Table
  readonly columns: readonly string[]
  /** Reason why the table can't be read as it is. */
  readonly problem: Misuse | null
}

type OneOrMore<T> = readonly [T, ...T[]]

/** The `--sheet` value for all tables. A table with this name takes precedence. */
const everyTable = 'all'

export function meansEvery(sheet: string | undefined): boolean {
  return sheet !== undefined && plainText(sheet) === everyTable
}

/** Returns the named table or, without a name, the tables that may be lists. */
async function chooseTables(
  tables: readonly Table[],
  shown: string,
  choice: Choice,
): Promise<OneOrMore<Table>> {
  const { every, options } = choice
  const hasName = tablesNamed(tables, everyTable).length > 0
  const name = every && hasName ? everyTable : options.sheet
  if (name !== undefined) return [namedTable(tables, shown, name)]
  const visible = tables.filter(({ hidden }) => !hidden)
  const lists = visible.filter(({ kind }) => kind === 'list')
  const unknown = visible.filter(({ kind }) => kind === 'unknown')
  const others = await judgeAll(unknown, choice)
  const [list, another] = lists
  // A single list is not judged here, because reading it may require flags.
  if (others.length === 0 && list !== undefined && another === undefined) return [list]
  const [first, ...more] = [...(await judgeAll(lists, choice)), ...others]
  if (first === undefined) throw noTable(tables, shown, 'a table with a query column')
  if (every || more.length === 0) return [readable(first), ...more.map(readable)]
  throw severalTables([first, ...more], shown, hasName)
}

function severalTables(meant: OneOrMore<Judged>, shown: string, hasAll: boolean): Misuse {
  const found = meant.map(({ table, columns }) => {
    const cells = columns.slice(0, 6).map(show)
    const held = cells.length === 0 ? 'not read' : cells.join(', ')
    return `${JSON.stringify(table.name)} (${held}${columns.length > 6 ? ', …' : ''})`
  })
  const { table } = meant.find(({ columns }) => columns.length > 0) ?? meant[0]
  const isEach = meant.every(({ problem }) => problem === null) && !hasAll
  const all = isEach ? `, or --sheet ${everyTable} to make each table a list` : ''
  return new Misuse(
    `expected one table with queries in ${shown}, got ${firstOf(found)}; use --sheet ${JSON.stringify(table.name)} or another table's name${all}`,
  )
}

function readable({ table, problem }: Judged): Table {
  if (problem === null) return table
  throw problem
}

function namesOf(tables: readonly Table[]): string {
  return firstOf(
    tables.map(({ name, hidden }) => `${JSON.stringify(name)}${hidden ? ' (hidden)' : ''}`),
  )
}

function firstOf(names: readonly string[]): string {
  const more = names.length - 20
  return `${names.slice(0, 20).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Returns the table with this name, or the table whose path ends in this name. */
function namedTable(tables: readonly Table[], shown: string, sheet: string): Table {
  const [table, ...others] = tablesNamed(tables, sheet)
  if (table === undefined) throw noTable(tables, shown, `a table ${JSON.stringify(sheet)}`)
  if (others.length === 0) return table
  throw new Misuse(
    `${JSON.stringify(sheet)} matches several tables in ${shown}: ${namesOf([table, ...others])}; use --sheet with the full name of a table`,
  )
}

function tablesNamed(tables: readonly Table[], sheet: string): readonly Table[] {
  const exact = tables.filter(({ name }) => name === sheet)
  if (exact.length > 0) return exact
  const wanted = plainText(sheet)
  const named = (name: string): boolean => plainText(name) === wanted
  return tables.filter(({ name }) => named(name) || named(name.slice(name.lastIndexOf('/') + 1)))
}

function plainText(text: string): string {
  return text.normalize('NFC').toLowerCase().trim()
}

function noTable(tables: readonly Table[], shown: string, expected: string): Misuse {
  const got = tables.length === 0 ? 'none' : namesOf(tables)
  return new Misuse(
    `expected ${expected} in ${shown}, got ${got}; choose a table with --sheet, and its query column with --column`,
  )
}

async function judgeAll(tables: readonly Table[], choice: Choice): Promise<readonly Judged[]> {
  const judged: (Judged | null)[] = []
  for (const table of tables) judged.push(await judge(table, choice))
  return judged.filter((one) => one !== null)
}

/** Returns null if the table is clearly not a list of queries. */
async function judge(table: Table, { opened, options }: Choice): Promise<Judged | null> {
  let columns: string[] | null = []
  try {
    const source = await opened(table)
    const { all, ...beginning } = await peek(source.chunks, 64 * 1024)
    columns = await beginningOf(beginning, table, options)
    const { heading } = await openList({ ...source, chunks: all }, options)
    const { header, headerLine } = heading.dialect
    if (headerLine !== null) return { table, columns: filledCells(header), problem: null }
    if (columns === null) return null
    throw new Misuse(
      `expected a table with a query column in ${source.shown}, got a table without column names; use --sheet ${JSON.stringify(table.name)} if each of its lines is one query`,
    )
  } catch (error) {
    if (!(error instanceof Misuse)) throw error
    return columns === null ? null : { table, columns, problem: error }
  }
}

// Names of the first column in exported tables without queries.
const otherTables: ReadonlySet<string> = new Set(
  'filter,filters,filtre,filtres,filtro,filtros,filtr,filtry,suodatin,фильтр,фільтр,フィルタ,フィルタ名,필터,过滤器,篩選器,search appearance,darstellung in der suche,apparence dans les résultats de recherche,aspecto de la búsqueda,aspetto nella ricerca,page,pages,top pages,date,dates,device,devices,country,countries,setting,settings,legend,readme,about,row labels,zeilenbeschriftungen,étiquettes de lignes,etiquetas de fila,etichette di riga,rótulos de linha,rijlabels,metric,metrics,kpi,kennzahl,statistic,measure'.split(
    ',',
  ),
)

// Names of tables that summarize other tables. The first column of a summary contains labels, not queries.
const summaries =
  /^(?:summary|pivot|overview|totals?|dashboard|statistics|zusammenfassung|übersicht|résumé|resumen|riepilogo|resumo|samenvatting|podsumowanie|сводка|итоги|概要|集計|汇总|요약)(?![\p{L}\p{M}])/iu

/** Returns the cells of a table's first row. Returns null if no column can contain queries. */
async function beginningOf(
  { head, whole }: { readonly head: Buffer; readonly whole: boolean },
  { name, kind }: Table,
  options: ReadOptions,
): Promise<string[] | null> {
  const { label } = await detectEncoding(head, whole, options.encoding)
  const decoded = new TextDecoder(label).decode(head)
  // A JSON document is not a table, but a JSON array or lines of JSON objects may be a list.
  if (kind === 'unknown' && /^\s*[[{]/.test(decoded)) {
    return /\[\s*["{[]|\}\s*\{/.test(decoded) ? [] : null
  }
  const text = Buffer.from(decoded)
  const trials = wantedDelimiters(options.delimiter).map((delimiter) => tryOut(text, delimiter))
  const trial = trials.find((one) => divides(one)) ?? trials.at(-1)
  if (trial === undefined) return null
  const { header, below, candidates } = tableOf(trial)
  if (below.length === 0 || otherTables.has(plainName(header[0] ?? ''))) return null
  if (summaries.test(name.slice(name.lastIndexOf('/') + 1))) return null
  return (candidates[0]?.score ?? 0) > leastScore ? filledCells(header) : null
}
