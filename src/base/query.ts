// Defines a query, with its canonical text, key and id.

import { hash } from 'node:crypto'

export const devices = ['desktop', 'mobile', 'tablet'] as const
export type Device = (typeof devices)[number]

declare const brand: unique symbol
type QueryKey = string & { readonly [brand]: 'QueryKey' }

/** A distinct request. A null parameter is not sent, and is distinct from every value. */
export interface Query {
  readonly q: string
  readonly location: string | null
  readonly hl: string | null
  readonly gl: string | null
  readonly num: number
  readonly device: Device | null
}

/** Default of `num`, the only parameter with a default. `num` is always sent, so that the price is known. */
export const defaultNum = 10

/** Query priorities. Lower numbers are more urgent. */
export const priorities = { first: 1, usual: 5, last: 9 } as const

// Invisible characters to remove. Persian, Hindi and emoji need the zero-width joiner and non-joiner.
const formatCharacters = /(?![\u200c\u200d])\p{Cf}/gu

// Printable ASCII with single spaces. Most queries match this pattern, so they need no conversion.
const plainText = /^[!-~]+(?: [!-~]+)*$/

/** Returns the text as it is sent and compared: in NFC, without invisible characters, and with single spaces. */
export function canonicalText(text: string): string {
  if (plainText.test(text)) return text
  return text
    .toWellFormed()
    .normalize('NFC')
    .replace(formatCharacters, '')
    .replace(/\s+/gu, ' ')
    .trim()
    .normalize('NFC')
}

/** Returns a query's key. Queries with the same key get the same results, so paying for both would waste credits. */
export function queryKey(query: Query): QueryKey {
  return keyOf(query.q, requestTail(query))
}

/** Returns the part of the key's input that follows the text. Equal parameters always produce equal strings. */
export function requestTail({ location, hl, gl, num, device }: Omit<Query, 'q'>): string {
  return JSON.stringify([location, hl, gl, num, device]).slice(1)
}

/** Computes a query's key: the hash of `JSON.stringify(['1', q, location, hl, gl, num, device])`. */
export function keyOf(q: string, tail: string): QueryKey {
  return hash('sha256', `["1",${JSON.stringify(q)},${tail}`, 'hex') as QueryKey
}

export function queryId(key: QueryKey): string {
  return contentId('query', key)
}

/**
 * Computes the sha256 of a dictionary row's kind and parts, joined by the unit separator. The first 16 bytes are the
 * row's id (see `pageIdBytes` for pages). All hosts compute the same id without a round trip.
 */
export function contentId(kind: string, ...parts: readonly string[]): string {
  const hex = hash('sha256', join(kind, parts), 'hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}

/** Returns the id from `contentId` as 16 characters, one per byte, in half the time. */
export function idBytes(kind: string, ...parts: readonly string[]): string {
  return hash('sha256', join(kind, parts), 'binary').slice(0, 16)
}

/** Returns a page's id as bytes. The first four, from the key, are the same for all spellings of an address. */
export function pageIdBytes(url: string, key: string): string {
  return idBytes('page', key).slice(0, 4) + idBytes('page', url).slice(4)
}

function join(kind: string, parts: readonly string[]): string {
  let text = kind
  for (const part of parts) text += `\u001f${part}`
  return text
}

export function groupBy<Row, Name>(
  rows: readonly Row[],
  nameOf: (row: Row) => Name,
): ReadonlyMap<Name, readonly Row[]> {
  const found = new Map<Name, Row[]>()
  for (const row of rows) {
    const name = nameOf(row)
    const same = found.get(name)
    if (same === undefined) found.set(name, [row])
    else same.push(row)
  }
  return found
}
