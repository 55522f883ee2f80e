import { hash } from 'node:crypto'
import { contentId, idBytes } from './ids.ts'

export const devices = ['desktop', 'mobile', 'tablet'] as const
export type Device = (typeof devices)[number]

declare const brand: unique symbol
export type QueryKey = string & { readonly [brand]: 'QueryKey' }

/** One distinct request. An absent parameter is null, is not sent, and differs from an explicit one. */
export interface Query {
  readonly q: string
  readonly location: string | null
  readonly hl: string | null
  readonly gl: string | null
  readonly num: number
  readonly device: Device | null
}

/** Only `num` has a default, and it is always sent, so that its price is known. */
export const defaultNum = 10

/** The greatest priority number is the least urgent one. */
export const priorities = { first: 1, usual: 5, last: 9 } as const

// Zero width joiner and non-joiner spell words in Persian, Hindi and emoji: they are no decoration.
const formatCharacters = /(?![\u200c\u200d])\p{Cf}/gu

// Printable ASCII with single blanks inside: what most queries are, and canonical already.
const plainText = /^[!-~]+(?: [!-~]+)*$/

/** The text as it is sent and compared: NFC, without invisible characters, every run of whitespace one space. */
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

/** Equal keys mean equal pages of results: paying for both would be waste. */
export function queryKey(query: Query): QueryKey {
  return keyOf(query.q, requestTail(query))
}

/** What follows the text in the identity of a query: the same for all queries that ask for the same things. */
export function requestTail({ location, hl, gl, num, device }: Omit<Query, 'q'>): string {
  return JSON.stringify([location, hl, gl, num, device]).slice(1)
}

/** The key from the text and the rest: the hash of `JSON.stringify(['1', q, location, hl, gl, num, device])`. */
export function keyOf(q: string, tail: string): QueryKey {
  return hash('sha256', `["1",${JSON.stringify(q)},${tail}`, 'hex') as QueryKey
}

/** The id of a query's row. */
export function queryId(key: QueryKey): string {
  return contentId('query', key)
}

/** The same id as its 16 bytes, where it only travels to the database. */
export function queryIdBytes(key: QueryKey): string {
  return idBytes('query', key)
}
