/** A value that `JSON.parse` returns. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

/** Source of an answer: the paid API, a test key, or the bundled service. Only live answers are shown as live. */
export type Origin = 'live' | 'test' | 'sandbox'

export interface Domain {
  readonly id: string
  readonly host: string
  readonly site: string | null
}

export interface Page {
  readonly id: string
  readonly domain: Domain | null
  readonly url: string
  readonly key: string
}

export interface Entity {
  readonly id: string
  readonly name: string
  readonly type: string | null
}

/** A cluster's label or a related search's text, with its id. */
export interface Term {
  readonly id: string
  readonly text: string
}

/** Something of an answer's list, with its place in it, from 1. */
export interface Placed<T> {
  readonly ordinal: number
  readonly item: T
}

export interface Result {
  readonly position: number | null
  readonly title: string | null
  readonly snippet: string | null
  readonly page: Page | null
  readonly domain: Domain | null
  readonly extra: JsonObject | null
  readonly asGiven: JsonObject | null
}

/** A thing in a block that the interface does not name. */
export interface Feature {
  /** Name of the block. */
  readonly kind: string
  readonly page: Page | null
  readonly domain: Domain | null
  readonly text: string | null
  readonly extra: JsonObject | null
}

/** One answer as the tables hold it: everything that its body said, each thing in the column where it belongs. */
export interface Answer {
  readonly intent: string | null
  readonly sentiment: string | null
  readonly creditsUsed: number | null
  readonly creditsRemaining: number | null
  /** Greatest position; null when no result has one. */
  readonly depth: number | null
  readonly replaced: number
  /** Null when the body was read as the answer to its query; otherwise all lists are empty. */
  readonly parseError: string | null
  readonly extra: JsonObject | null
  readonly asGiven: JsonObject | null
  readonly results: readonly Placed<Result>[]
  readonly entities: readonly Placed<Entity>[]
  readonly clusters: readonly Placed<Term>[]
  readonly related: readonly Placed<Term>[]
  /** The blocks of `extra`, item by item. */
  readonly features: readonly Placed<Feature>[]
}

/** Beginning of the reason when the tables refused the rows of a readable answer; a later reparse stores them. */
export const refusedRows = 'the tables refused its rows: '
/** Beginning of `parse_error` when the API refused the query and charged for it; code and message follow. */
export const paidRefusal = 'the API refused it, and charged for it: '
/** Beginning of `parse_error` when the answer names another query than the one sent; that query follows. */
export const otherQuery = 'it answers another query: '

/** Why an answer has no rows: the API refused it, it answers another query, or its body or rows could not be used. */
export type Flaw = 'paid_refusal' | 'other_query' | 'unreadable'

/** Reads the flaw from `parse_error`; null for an answer that has none. */
export function flawOf(parseError: string | null): Flaw | null {
  if (parseError === null) return null
  if (parseError.startsWith(paidRefusal)) return 'paid_refusal'
  return parseError.startsWith(otherQuery) ? 'other_query' : 'unreadable'
}

/** A body received, and the answer in it if it is one. */
export interface StoredAnswer {
  readonly callId: number
  readonly status: number
  readonly receivedAt: Date
  readonly truncated: boolean
  readonly body: Buffer
  /** Null: the body is kept, but it is no answer (an error, or what came before the connection broke). */
  readonly search: {
    readonly taskId: number
    readonly queryId: string
    readonly origin: Origin
    readonly api: string
    readonly answer: Answer
  } | null
}
