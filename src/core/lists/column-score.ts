// Scores the columns of a table by how much their cells look like search queries.

import { checkDevice, countryCode, isGap, isNumber, languageCode } from './values.ts'

const identifiers = 'article numbers, hashes or other identifiers'

/** Matches MD5 sums, SHA sums and UUIDs. People search for article numbers, but not for checksums or UUIDs. */
const hash = /^(?=.*\d)[\da-f-]{24,}$/i

const things: readonly (readonly [string, RegExp])[] = [
  ['addresses', /^https?:\/\//i],
  // Excludes ".js" and ".ts", because people search for frameworks such as "node.js".
  [
    'host names',
    /^(?:[\p{L}\d-]+\.)+(?!js$|ts$)(?:com|net|org|info|biz|shop|online|[a-z]{2})(?:\/\S*)?$/iu,
  ],
  // Requires a four-digit year, because people search for version numbers such as 10.1.26.
  [
    'dates',
    /^(?:(?:19|20)\d\d([-./])\d\d?\1\d\d?|\d\d?([-./])\d\d?\2(?:19|20)\d\d)(?:[T\s]\s*\d\d?:\d\d.*)?$/,
  ],
  ['prices', /^(?:[$€£¥]\s?\d[\d.,]*|\d[\d.,]*\s?(?:[$€£¥]|EUR|USD|GBP))$/],
  ['IP addresses', /^\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?$/],
  ['telephone numbers', /^(?:\+|00|\()(?:[\s()./-]*\d){7,15}$/],
]

function otherThing(cell: string): string | undefined {
  const text = cell.trim()
  const found = things.find(([, pattern]) => pattern.test(text))?.[0]
  if (found !== undefined) return found
  const isFigure = !/\p{L}/u.test(text) && /\d/.test(text)
  return isFigure || isIdentifier(text) ? identifiers : undefined
}

/** Returns a plural noun, such as "dates", for cells that can't be queries. The first cell may be a column name. */
export function otherThings(cells: readonly string[]): string | undefined {
  if (cells.filter(looksLikeMail).length * 5 > cells.length)
    return 'email addresses, which are personal data and would be sent to the search API'
  const found = cells.map(otherThing)
  const thing = found.findLast((one) => one !== undefined)
  const count = found.filter((one) => one === thing).length
  const few = thing === identifiers && !cells.some((cell) => hash.test(cell.trim())) ? 3 : 1
  const isAll = count >= found.length - 1 && found.length > few
  return isAll || (count > 2 && count >= found.length * 0.8) ? thing : undefined
}

export function looksLikeMail(cell: string): boolean {
  return /^[^\s@,;|]+@[^\s@,;|]+\.[a-z]{2,}$/i.test(cell.trim())
}

/** True for a cell that is clearly not a search query, such as a URL, a date or a price. */
export function isThing(cell: string): boolean {
  const text = cell.trim()
  return things.some(([, pattern]) => pattern.test(text)) || looksLikeMail(text)
}

function isIdentifier(cell: string): boolean {
  const text = cell.trim()
  return (
    /^(?=.*\d)(?=.*[A-Z_]|.*-.*-)[\w-]{6,}$/.test(text) ||
    /^[A-Z]{1,6}[-_]\d+$/.test(text) ||
    hash.test(text) ||
    /^\d{6,}$/.test(text)
  )
}

function isOther(cell: string): boolean {
  return !/\p{L}/u.test(cell) || isNumber(cell) || isThing(cell) || isIdentifier(cell)
}

/** A column of search settings, such as countries or devices, contains no queries. */
function isSetting(cell: string): boolean {
  return countryCode(cell) !== undefined || languageCode(cell) !== undefined || checkDevice(cell).ok
}

export const scoredRows = 200

/** Returns the columns that may contain queries: the chosen column, then the others by descending score (1 to 0). */
export function scoreColumns(rows: readonly (readonly string[])[], width: number, chosen?: number) {
  const first = rows.slice(0, scoredRows)
  return Array.from({ length: width }, (_, index) => {
    const score = scoreOf(first.map((cells) => cells[index] ?? ''))
    return { index, score, rank: index === chosen ? 2 : score }
  })
    .filter(({ rank }) => rank > 0)
    .toSorted((one, other) => other.rank - one.rank)
}

/** A plausible query column has a score above this value. */
export const leastScore = 0.1

/** Rates how similar cells are to queries, which usually differ from each other and often have several words. */
function scoreOf(cells: readonly string[]): number {
  const filled = cells.map((cell) => cell.trim()).filter((cell) => cell !== '' && !isGap(cell))
  const texts = filled.filter((cell) => !isOther(cell))
  if (texts.length <= filled.length * 0.2) return 0
  const likely = texts.filter((cell) => !isSetting(cell)).length / filled.length
  const different = new Set(texts).size / texts.length
  const several = texts.filter((cell) => /\s/.test(cell)).length / texts.length
  const score = (texts.length / filled.length) * (0.5 + 0.3 * different + 0.2 * several)
  return likely > 0.2 ? score : score * leastScore
}
