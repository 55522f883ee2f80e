// Determines the meaning of each column from its name or from flags. Recognizes the names that common tools use.

import { Misuse } from '../../base/errors.ts'

export interface Columns {
  readonly query: number
  readonly others: readonly ListColumn[]
  /** Number of cells that a row needs for the query and all request parameters. */
  readonly needed: number
  readonly width: number
  /** Distinct header cells without a known meaning. */
  readonly ignored: readonly string[]
}

/** The delimiter, the header and the columns are detected from the first lines, and apply to the whole list. */
export interface Dialect {
  /** Null if each line is one query. */
  readonly delimiter: string | null
  /** Null if the list has no header. */
  readonly headerLine: number | null
  readonly header: readonly string[]
  readonly columns: Columns
}

export const requestRoles = ['location', 'hl', 'gl', 'num', 'device'] as const

type HeaderReading =
  | { readonly kind: 'columns'; readonly columns: Columns }
  | { readonly kind: 'none' }
  | { readonly kind: 'unclear'; readonly problem: string }

/** `wanted` is the query column that the user named. */
export function readHeader(cells: readonly string[], wanted: string | undefined): HeaderReading {
  const queries = queryColumns(cells, wanted)
  const [query] = queries
  if (query === undefined) return { kind: 'none' }
  if (queries.length > 1) {
    const found = queries.map((index) => `${show(cells[index] ?? '')} (${index + 1})`).join(', ')
    return { kind: 'unclear', problem: `expected one query column, got ${found}` }
  }
  const others: ListColumn[] = []
  for (const [index, meaning] of cells.map(readMeaning).entries()) {
    if (meaning === undefined || meaning.role === 'query' || index === query) continue
    const twice = others.some(({ role }) => role === meaning.role)
    if (twice && meaning.role !== 'tags') {
      return { kind: 'unclear', problem: `expected one ${meaning.role} column, got two` }
    }
    others.push({ role: meaning.role, index, several: meaning.several })
  }
  others.push(...findToolColumns(cells, query, others))
  return { kind: 'columns', columns: columnsOf(query, others, cells) }
}

function columnsOf(
  query: number,
  others: readonly ListColumn[],
  cells: readonly string[],
): Columns {
  const used = new Set([query, ...others.map(({ index }) => index)])
  const unused = cells.filter((cell, index) => !used.has(index) && cell.trim() !== '')
  const asked = others.filter(({ role }) => isRequestRole(role))
  const needed = Math.max(query, ...asked.map(({ index }) => index)) + 1
  return { query, others, needed, width: cells.length, ignored: [...new Set(unused)] }
}

export function isRequestRole(role: string): boolean {
  return requestRoles.some((name) => name === role)
}

function queryColumns(cells: readonly string[], wanted: string | undefined): number[] {
  const wantedIndex = columnNumber(wanted)
  if (wantedIndex !== undefined) return wantedIndex < cells.length ? [wantedIndex] : []
  const isHit = (cell: string) => (wanted === undefined ? isQueryName(cell) : isNamed(cell, wanted))
  return [...cells.keys()].filter((index) => isHit(cells[index] ?? ''))
}

export function isQueryName(cell: string): boolean {
  return readMeaning(cell)?.role === 'query'
}

function isNamed(cell: string, name: string): boolean {
  return cell.trim() === name.trim() || plainName(cell) === plainName(name)
}

/** Converts a number, as in `--column 2`, to an index. Returns undefined for a column name. */
export function columnNumber(wanted: string | undefined): number | undefined {
  return wanted !== undefined && /^[1-9]\d{0,3}$/.test(wanted) ? Number(wanted) - 1 : undefined
}

export function plainColumns(query: number, width: number): Columns {
  return { ...columnsOf(query, [], []), width }
}

/** True for the title row of a block of related queries. The second cell may be the heading of a number column. */
export function isTitle(cells: readonly string[]): boolean {
  return (
    cells.length <= 2 && blockTitles.has(plainName(cells[0] ?? '')) && !/\d/.test(cells[1] ?? '')
  )
}

export function show(cell: string): string {
  const text = cell.trim()
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}

export const otherRoles = [
  ...requestRoles,
  'priority',
  'weight',
  'tags',
  'target',
  'cpc',
  'difficulty',
  'every',
  'max_age',
] as const

type OtherRole = (typeof otherRoles)[number]
type Role = 'query' | OtherRole

interface Meaning {
  readonly role: Role
  /** True if `a|b` in a cell stands for two values. */
  readonly several: boolean
}

/** A column that is read in addition to the query column. */
export interface ListColumn {
  readonly role: OtherRole
  readonly index: number
  readonly several: boolean
  /** True for a tool's column, where invalid numbers are allowed, but not unknown languages or countries. */
  readonly tool?: boolean
  /** True if the user specified the meaning of the column. */
  readonly asked?: boolean
}

export interface Mapping {
  /** Name or number. */
  readonly column: string
  /** Null for a column that the user wants to ignore. */
  readonly role: OtherRole | null
}

// Maximum length of a name, because matching takes quadratic time.
const longestName = 300

// Names of the query column in exports from keyword tools, search consoles and advertising accounts, by language.
const queryNames = `
q, query, queries, keyword, keywords, key word, key words, search term, search terms, search query,
search queries, search keyword, search keywords, term, top queries, top query,
suchbegriff, suchbegriffe, suchanfrage, suchanfragen, häufigste suchanfragen, schlüsselwort, stichwort,
mot clé, mots clés, mot-clé, mots-clés, requête, requêtes, requêtes les plus fréquentes, terme de recherche,
palabra clave, palabras clave, consulta, consultas, consultas principales, término de búsqueda,
parola chiave, parole chiave, query principali, termine di ricerca,
palavra-chave, palavras-chave, palavra chave, palavras chave, principais consultas, termo de pesquisa,
zoekwoord, zoekwoorden, zoekterm, zoektermen, populairste zoekopdrachten, zoekopdracht, zoekopdrachten,
słowo kluczowe, słowa kluczowe, najpopularniejsze zapytania, zapytanie, zapytania, wyszukiwane hasło,
anahtar kelime, anahtar kelimeler, en popüler sorgular, en çok yapılan sorgular, sorgu, sorgular, arama terimi,
klíčové slovo, klíčová slova, nejčastější dotazy, dotaz, dotazy, kľúčové slovo,
nyckelord, sökord, sökfråga, vanligaste sökfrågorna, sökterm, søgeord, søkeord, nøkkelord, avainsana, hakusana,
kulcsszó, kulcsszavak, cuvânt cheie, cuvinte cheie, ključna riječ, ključna beseda, λέξη-κλειδί, ερώτημα,
ключевое слово, ключевые слова, ключевая фраза, поисковый запрос, поисковые запросы, запрос, запросы,
популярные запросы, ключове слово, ключові слова, ключова дума,
キーワード, 検索キーワード, 検索語句, クエリ, 検索クエリ, 上位のクエリ,
키워드, 연관키워드, 검색어, 인기 검색어, 쿼리,
关键字, 关键词, 搜索词, 搜索字词, 查询, 热门查询, 關鍵字, 搜尋字詞, 查詢, 熱門查詢,
từ khóa, cụm từ tìm kiếm, kata kunci, kueri, kueri teratas, kueri populer, คำหลัก, คีย์เวิร์ด, คำค้นหา,
الكلمة الرئيسية, كلمة رئيسية, الكلمات الرئيسية, طلبات البحث, מילת מפתח, שאילתה, שאילתות, कीवर्ड, کلمه کلیدی
`

/** Our own column names, for roles with several accepted names. */
const otherNames: Partial<Record<OtherRole, string>> = {
  location: 'location, place',
  tags: 'tags, tag',
  target: 'target url, target, target page',
  max_age: 'max age, max-age',
}

const meaningsByName = new Map<string, Meaning>()
for (const role of ['query', ...otherRoles] as const) {
  const names = role === 'query' ? queryNames : (otherNames[role] ?? role)
  // Only exports from other tools have columns with these roles.
  if (role === 'cpc' || role === 'difficulty') continue
  for (const name of names.split(',').map(plainName)) {
    meaningsByName.set(name, { role, several: false })
    if (isRequestRole(role)) meaningsByName.set(`${name}s`, { role, several: true })
  }
}

/** Normalizes case, width, underscores, invisible characters and surrounding punctuation. */
export function plainName(cell: string): string {
  return cell
    .slice(0, longestName)
    .toWellFormed()
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase()
    .replace(/[\s_]+/gu, ' ')
    .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}\p{M}]+$/gu, '')
}

const severalMark = /\s*(?:\||\[\]|\(\s*a?\s*\|\s*b?\s*\))\s*$/

/** Returns the meaning of a header cell. A cell in a `device|` or `devices` column may contain several values. */
export function readMeaning(cell: string): Meaning | undefined {
  if (cell.length > longestName) return undefined
  const marked = severalMark.test(cell)
  const meaning = meaningsByName.get(plainName(cell.replace(severalMark, '')))
  return marked && meaning !== undefined ? { ...meaning, several: true } : meaning
}

// Titles of the two blocks in an export of related queries. A title is not a column name.
const blockTitles: ReadonlySet<string> = new Set(['top', 'rising'])

/** Names of the other columns in exports from tools. The first matching pattern determines a column's role. */
const toolColumns: readonly (readonly [OtherRole, ...RegExp[]])[] = [
  ['gl', /^country$/, /^country code$/],
  ['hl', /^language$/, /^language code$/],
  [
    'weight',
    /^(?:avg\.? )?(?:monthly )?search(?:es)? vol(?:ume)?$/,
    /^volume$/,
    /^vol$/,
    /^avg\.? monthly searches$/,
    /^(?:monthly searches|search vol\.?|msv|volumen|suchvolumen|zoekvolume|volume de recherche|volumen de búsqueda|volume di ricerca|月間検索数|検索ボリューム|搜索量)$/,
    /^impressions$/,
  ],
  ['cpc', /^cpc(?: \([a-z]{3})?$/, /^(?:average|avg\.?) cpc$/, /^cost per click$/],
  [
    'difficulty',
    /^keyword difficulty(?: %)?$/,
    /^kd(?: ?%)?$/,
    /^difficulty$/,
    /^(?:seo|search) difficulty$/,
  ],
]

/** For roles without a column, tries the column names of known tools. */
function findToolColumns(
  cells: readonly string[],
  query: number,
  others: readonly ListColumn[],
): readonly ListColumn[] {
  const free = cells.map((cell, at) =>
    at === query || others.some(({ index }) => index === at) ? '' : plainName(cell),
  )
  return toolColumns.flatMap(([role, ...names]) => {
    if (others.some((other) => other.role === role)) return []
    const found = names.map((pattern) => free.findIndex((name) => pattern.test(name)))
    const index = found.find((at) => at >= 0)
    return index === undefined ? [] : [{ role, index, several: false, tool: true }]
  })
}

/** Applies the user's mappings, which override the meanings of column names. */
export function mapColumns(
  columns: Columns,
  header: readonly string[],
  { shown, map = [] }: { shown: string; map?: readonly Mapping[] | undefined },
): Columns {
  if (map.length === 0) return columns
  const { query, width } = columns
  let found = columns.others
  for (const { column, role } of map) {
    const index = indexOf(column, header, { shown, width })
    if (index === query) {
      throw new Misuse(
        `expected --map to name a column other than the query column, got ${show(column)}`,
      )
    }
    found = found.filter(
      (other) => other.index !== index && (role === 'tags' || other.role !== role),
    )
    if (role === null) continue
    const byName = role === 'gl' || role === 'hl' || role === 'cpc' || role === 'difficulty'
    const asked = { role, index, several: false, asked: true, ...(byName ? { tool: true } : {}) }
    found = [...found, asked]
  }
  return { ...columnsOf(query, found, header), width }
}

function indexOf(
  column: string,
  header: readonly string[],
  { shown, width }: { shown: string; width: number },
): number {
  const named = header.findIndex((cell) => isNamed(cell, column))
  if (named >= 0) return named
  const number = columnNumber(column)
  if (number !== undefined && number < width) return number
  const names =
    header.length === 0 ? `columns 1 to ${width}` : header.slice(0, 20).map(show).join(', ')
  throw new Misuse(`expected a column ${show(column)} in ${shown}, got ${names}; correct --map`)
}
