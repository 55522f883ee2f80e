import { hash } from 'node:crypto'
import { contentId } from './ids.ts'

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

/** The text as it is sent and compared: NFC, without invisible characters, every run of whitespace one space. */
export function canonicalText(text: string): string {
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
  const { q, location, hl, gl, num, device } = query
  const identity = JSON.stringify(['1', q, location, hl, gl, num, device])
  return hash('sha256', identity, 'hex') as QueryKey
}

/** The id of a query's row. */
export function queryId(key: QueryKey): string {
  return contentId('query', key)
}
