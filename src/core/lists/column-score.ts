// Scores the columns of a table by how much their cells look like search queries.

import { checkDevice, countryCode, isGap, isNumber, languageCode } from './values.ts'

const identifiers = 'article numbers, hashes or the like'

/** MD5 and SHA sums, and UUIDs. People may search for article numbers, but not for these. */
const hash = /^(?=.*\d)[\da-f-]{24,}$/i

const things: readonly (readonly [string, RegExp])[] = [
  ['addresses', /^https?:\/\//i],
  // Not "node.js" and the like, because people search for such frameworks.
  [
    'host names',
    /^(?:[\p{L}\d-]+\.)+(?!js$|ts$)(?:com|net|org|info|biz|shop|online|[a-z]{2})(?:\/\S*)?$/iu,
  ],
  // Requires a four-digit year: 10.1.26 might be a version number that people search for.
  [
    'dates',
    /^(?:(?:19|20)\d\d([-./])\d\d?\1\d\d?|\d\d?([-./])\d\d?\2(?:19|20)\d\d)(?:[T\s]\s*\d\d?:\d\d.*)?$/,
  ],
  ['prices', /^(?:[$€£¥]\s?\d[\d.,]*|\d[\d.,]*\s?(?:[$€£¥]|EUR|USD|GBP))$/],
  ['IP addresses', /^\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?$/],
  ['telephone numbers', /^(?:\+|00|\()(?:[\s()./-]*\d){7,15}$/],
]

/**
 * Names the kind of a cell that is not a search query, in the plural; undefined if the cell may be a
 * query.
 */
function otherThing(cell: string): string | undefined {
  const text = cell.trim()
  const found = things.find(([, pattern]) => pattern.test(text))?.[0]
  if (found !== undefined) return found
  const isFigure = !/\p{L}/u.test(text) && /\d/.test(text)
  return isFigure || isIdentifier(text) ? identifiers : undefined
}

/**
 * Names the kind of these cells if they are not search queries; the first cell may be a column name.
 */
export function otherThings(cells: readonly string[]): string | undefined {
  if (cells.filter(looksLikeMail).length * 5 > cells.length)
    return 'email addresses, which are personal data and would go to the search API'
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

/** True for an address, a date, a price or another cell that is clearly not a search query. */
export function isThing(cell: string): boolean {
  const text = cell.trim()
  return things.some(([, pattern]) => pattern.test(text)) || looksLikeMail(text)
}

/** True for article and document numbers, hashes and the like. */
function isIdentifier(cell: string): boolean {
  const text = cell.trim()
  return (
    /^(?=.*\d)(?=.*[A-Z_]|.*-.*-)[\w-]{6,}$/.test(text) ||
    /^[A-Z]{1,6}[-_]\d+$/.test(text) ||
    hash.test(text) ||
    /^\d{6,}$/.test(text)
  )
}

/** True for a cell that is not a search query. */
function isOther(cell: string): boolean {
  return !/\p{L}/u.test(cell) || isNumber(cell) || isThing(cell) || isIdentifier(cell)
}

/** True for a search setting such as a country or device; a column of these contains no queries. */
function isSetting(cell: string): boolean {
  return countryCode(cell) !== undefined || languageCode(cell) !== undefined || checkDevice(cell).ok
}

/** A column that may contain queries. */
export interface ScoredColumn {
  readonly index: number
  /** From 0 (no queries) to 1. */
  readonly score: number
}

/** Number of rows that are enough to judge columns. */
export const scoredRows = 200

/** Columns that may contain queries: the chosen one first, then the most likely. */
export function scoreColumns(
  rows: readonly (readonly string[])[],
  width: number,
  chosen?: number,
): ScoredColumn[] {
  const first = rows.slice(0, scoredRows)
  const rank = ({ index, score }: ScoredColumn): number => (index === chosen ? 2 : score)
  return Array.from({ length: width }, (_, index) => index)
    .map((index) => ({ index, score: scoreOf(first.map((cells) => cells[index] ?? '')) }))
    .filter((column) => rank(column) > 0)
    .toSorted((one, other) => rank(other) - rank(one))
}

/** A column with a lower score is not a plausible query column. */
export const leastScore = 0.1

/**
 * Scores cells by how they look: queries differ from each other, and many have several words; figures,
 * codes and labels do not.
 */
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
