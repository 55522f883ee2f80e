// What the columns of a list mean: by their names, by the tool that wrote them, by what a person says.

export interface Columns {
  readonly query: number
  readonly others: readonly ListColumn[]
  /** Cells that a row must have for its query to be known. */
  readonly needed: number
  /** Cells of the header. */
  readonly width: number
  /** Header cells that are none of ours, each named once. */
  readonly ignored: readonly string[]
}

/** Delimiter, header and columns: found on the beginning of a list, then applied to its end. */
export interface Dialect {
  /** Null: one query a line. */
  readonly delimiter: string | null
  /** Number of the header's line; null when there is none. */
  readonly headerLine: number | null
  readonly header: readonly string[]
  readonly columns: Columns
}

/** The columns that shape a request. */
export const requestRoles = ['location', 'hl', 'gl', 'num', 'device'] as const

/** A header, as far as it can be told from its cells alone. */
type HeaderReading =
  | { readonly kind: 'columns'; readonly columns: Columns }
  | { readonly kind: 'none' }
  | { readonly kind: 'unclear'; readonly problem: string }

/** Reads a record as a header; `wanted` is the person's own name for the column of queries. */
export function readHeader(cells: readonly string[], wanted: string | undefined): HeaderReading {
  const meanings = cells.map((cell) => readMeaning(cell))
  const queries = queryColumns(cells, wanted)
  const [query] = queries
  if (query === undefined) return { kind: 'none' }
  if (queries.length > 1) {
    const found = queries.map((index) => `${show(cells[index] ?? '')} (${index + 1})`).join(', ')
    return { kind: 'unclear', problem: `expected one column of queries, got ${found}` }
  }
  const others: ListColumn[] = []
  for (const [index, meaning] of meanings.entries()) {
    if (meaning === undefined || meaning.role === 'query' || index === query) continue
    const twice = others.some(({ role }) => role === meaning.role)
    if (twice && meaning.role !== 'tags') {
      return { kind: 'unclear', problem: `expected one column ${meaning.role}, got two` }
    }
    others.push({ role: meaning.role, index, several: meaning.several })
  }
  const taken = {
    indexes: new Set([query, ...others.map(({ index }) => index)]),
    roles: new Set(others.map(({ role }) => role)),
  }
  others.push(...findToolColumns(cells, taken))
  return { kind: 'columns', columns: columnsOf(query, others, cells) }
}

/** The columns of a record, with what follows from them. */
export function columnsOf(
  query: number,
  others: readonly ListColumn[],
  cells: readonly string[],
): Columns {
  const used = new Set([query, ...others.map(({ index }) => index)])
  const ignored = [
    ...new Set(cells.filter((cell, index) => !used.has(index) && cell.trim() !== '')),
  ]
  const needed = Math.max(query, ...others.filter(shapesRequest).map(({ index }) => index)) + 1
  return { query, others, needed, width: cells.length, ignored }
}

function shapesRequest({ role }: ListColumn): boolean {
  return requestRoles.some((name) => name === role)
}

function queryColumns(cells: readonly string[], wanted: string | undefined): number[] {
  const wantedIndex = columnNumber(wanted)
  if (wantedIndex !== undefined) return wantedIndex < cells.length ? [wantedIndex] : []
  const name = wanted === undefined ? undefined : plainName(wanted)
  return cells.flatMap((cell, index) => {
    const hit =
      name === undefined
        ? readMeaning(cell)?.role === 'query'
        : plainName(cell) === name || cell.trim() === wanted?.trim()
    return hit ? [index] : []
  })
}

/** `--column 2` counts from 1. */
export function columnNumber(wanted: string | undefined): number | undefined {
  return wanted !== undefined && /^[1-9]\d{0,3}$/.test(wanted) ? Number(wanted) - 1 : undefined
}

/** The columns of a list whose rows hold a query first and are not described by a header. */
export function plainColumns(query: number, width: number): Columns {
  return { query, others: [], needed: query + 1, width, ignored: [] }
}

/** True for the title of a block of related queries, alone or before the name of its numbers. */
export function isTitle(cells: readonly string[]): boolean {
  return cells.length <= 2 && isBlockTitle(cells[0] ?? '') && !/\d/.test(cells[1] ?? '')
}

/** A cell as a message shows it. */
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

/** A header cell that we know: its meaning, and whether `a|b` in its cells means several values. */
interface Meaning {
  readonly role: Role
  readonly several: boolean
}

/** A column of a list that is read besides its queries. */
export interface ListColumn {
  readonly role: OtherRole
  readonly index: number
  readonly several: boolean
  /** True for a column that only tools name like this: what does not fit in it costs no query. */
  readonly tool?: boolean
  /** True for a column that a person has said the meaning of. */
  readonly asked?: boolean
}

/** A column by its name or number, and what a person says it means; null: nothing. */
export interface Mapping {
  readonly column: string
  readonly role: OtherRole | null
}

// As the exports of keyword tools, search consoles and advertising accounts spell it, language by language.
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

const otherNames: Readonly<Record<Exclude<OtherRole, 'cpc' | 'difficulty'>, string>> = {
  location: 'location, place',
  hl: 'hl',
  gl: 'gl',
  num: 'num',
  device: 'device',
  priority: 'priority',
  weight: 'weight',
  tags: 'tags, tag',
  target: 'target url, target, target page',
  every: 'every',
  // An underscore is a blank by then.
  max_age: 'max age, max-age',
}

// A name in the plural promises several values in a cell.
const severalNames: Readonly<Record<string, Role>> = {
  locations: 'location',
  places: 'location',
  hls: 'hl',
  gls: 'gl',
  nums: 'num',
  devices: 'device',
}

const meaningsByName = new Map<string, Meaning>([
  ...namesIn(queryNames).map((name) => [name, { role: 'query', several: false }] as const),
  ...Object.entries(otherNames).flatMap(([role, list]) =>
    namesIn(list).map((name) => [name, { role: role as Role, several: false }] as const),
  ),
  ...Object.entries(severalNames).map(
    ([name, role]) => [plainName(name), { role, several: true }] as const,
  ),
])

function namesIn(list: string): string[] {
  return list.split(',').map((name) => plainName(name))
}

/** A header cell without what tools decorate it with: case, width, underscores, invisible signs, marks around it. */
export function plainName(cell: string): string {
  return cell
    .toWellFormed()
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase()
    .replace(/[\s_]+/gu, ' ')
    .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}\p{M}]+$/gu, '')
}

const severalMark = /\s*(?:\||\[\]|\(\s*a?\s*\|\s*b?\s*\))\s*$/

/** Reads the meaning of a header cell; undefined for a column that is none of ours. `device|` and `devices` hold several values. */
export function readMeaning(cell: string): Meaning | undefined {
  const marked = severalMark.test(cell)
  const meaning = meaningsByName.get(plainName(marked ? cell.replace(severalMark, '') : cell))
  if (meaning === undefined || !marked) return meaning
  return { role: meaning.role, several: true }
}

// Titles of the two blocks of an export of related queries: they name no column by themselves.
const blockTitles: ReadonlySet<string> = new Set(['top', 'rising'])

/** True for the title of a block of related queries. */
function isBlockTitle(cell: string): boolean {
  return blockTitles.has(plainName(cell))
}

/** A column that a tool writes beside its queries; the earlier pattern wins where several columns fit. */
interface ToolColumn {
  readonly role: OtherRole
  readonly names: readonly RegExp[]
}

const toolColumns: readonly ToolColumn[] = [
  { role: 'gl', names: [/^country$/, /^country code$/] },
  { role: 'hl', names: [/^language$/, /^language code$/] },
  {
    role: 'weight',
    names: [
      /^(?:avg\.? )?(?:monthly )?search(?:es)? vol(?:ume)?$/,
      /^volume$/,
      /^vol$/,
      /^avg\.? monthly searches$/,
      /^(?:monthly searches|search vol\.?|msv|volumen|suchvolumen|zoekvolume|volume de recherche|volumen de búsqueda|volume di ricerca|月間検索数|検索ボリューム|搜索量)$/,
      /^impressions$/,
    ],
  },
  { role: 'cpc', names: [/^cpc(?: \([a-z]{3})?$/, /^(?:average|avg\.?) cpc$/, /^cost per click$/] },
  {
    role: 'difficulty',
    names: [
      /^keyword difficulty(?: %)?$/,
      /^kd(?: ?%)?$/,
      /^difficulty$/,
      /^(?:seo|search) difficulty$/,
    ],
  },
]

/** The columns of known tools that no name of ours stands for. */
function findToolColumns(
  cells: readonly string[],
  taken: { readonly indexes: ReadonlySet<number>; readonly roles: ReadonlySet<string> },
): readonly ListColumn[] {
  const names = cells.map((cell) => plainName(cell))
  return toolColumns.flatMap(({ role, names: patterns }) => {
    if (taken.roles.has(role)) return []
    for (const pattern of patterns) {
      const index = names.findIndex((name, at) => pattern.test(name) && !taken.indexes.has(at))
      if (index >= 0) return [{ role, index, several: false, tool: true }]
    }
    return []
  })
}

const worthSaying = new Set(['country', 'language', 'locale', 'market', 'volume'])

/** Of the columns that nothing is taken from, those that a person may believe to be read. */
export function missedColumns(ignored: readonly string[]): readonly string[] {
  return ignored.filter((cell) => worthSaying.has(plainName(cell)))
}
