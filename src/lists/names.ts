/** What a column of a list can mean to us. */
export type Role =
  | 'query'
  | 'location'
  | 'hl'
  | 'gl'
  | 'num'
  | 'device'
  | 'priority'
  | 'weight'
  | 'tags'
  | 'target'
  | 'cpc'
  | 'difficulty'
  | 'every'
  | 'max_age'

/** A header cell that we know: its meaning, and whether `a|b` in its cells means several values. */
export interface Meaning {
  readonly role: Role
  readonly several: boolean
}

/** A column of a list that is read besides its queries. */
export interface ListColumn {
  readonly role: Exclude<Role, 'query'>
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
  readonly role: Exclude<Role, 'query'> | null
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

const otherNames: Readonly<Record<Exclude<Role, 'query' | 'cpc' | 'difficulty'>, string>> = {
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

const meanings = new Map<string, Meaning>([
  ...names(queryNames).map((name) => [name, { role: 'query', several: false }] as const),
  ...Object.entries(otherNames).flatMap(([role, list]) =>
    names(list).map((name) => [name, { role: role as Role, several: false }] as const),
  ),
  ...Object.entries(severalNames).map(
    ([name, role]) => [plainName(name), { role, several: true }] as const,
  ),
])

function names(list: string): string[] {
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

/** What a header cell means; undefined for a column that is none of ours. `device|` and `devices` hold several values. */
export function readMeaning(cell: string): Meaning | undefined {
  const marked = severalMark.test(cell)
  const meaning = meanings.get(plainName(marked ? cell.replace(severalMark, '') : cell))
  if (meaning === undefined || !marked) return meaning
  return { role: meaning.role, several: true }
}

// Titles of the two blocks of an export of related queries: they name no column by themselves.
const blockTitles: ReadonlySet<string> = new Set(['top', 'rising'])

/** True for the title of a block of related queries. */
export function isBlockTitle(cell: string): boolean {
  return blockTitles.has(plainName(cell))
}
