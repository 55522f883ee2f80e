// Types of answers, as they are parsed and stored.

export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [name: string]: Json
}

/** Source of an answer. Test and sandbox answers are never shown as live. */
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

/** Id of a cluster or related search, with its label or text. */
export interface Term {
  readonly id: string
  readonly text: string
}

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

/** An item in a block that the API specification does not mention. */
export interface Feature {
  readonly kind: string
  readonly page: Page | null
  readonly domain: Domain | null
  readonly text: string | null
  readonly extra: JsonObject | null
}

/** An answer as stored in the database, with each value from the body in its own column. */
export interface Answer {
  readonly intent: string | null
  readonly sentiment: string | null
  readonly creditsUsed: number | null
  readonly creditsRemaining: number | null
  /** Last position, or null if no result has a position. */
  readonly depth: number | null
  readonly replaced: number
  /** Reason why the body is not a readable answer to the query, or null. If the reason is set, all lists are empty. */
  readonly parseError: string | null
  readonly extra: JsonObject | null
  readonly asGiven: JsonObject | null
  readonly results: readonly Placed<Result>[]
  readonly entities: readonly Placed<Entity>[]
  readonly clusters: readonly Placed<Term>[]
  readonly related: readonly Placed<Term>[]
  readonly features: readonly Placed<Feature>[]
}

/** Prefix of `parse_error` if the database rejected a readable answer's rows. A reparse can store the rejected rows. */
export const refusedRows = 'the tables refused its rows: '
/** Prefix of `parse_error` if the API rejected the query but charged for it; the API's code and message follow. */
export const paidRefusal = 'the API refused it, and charged for it: '
/** Prefix of `parse_error` if the answer is for a different query. The other query's text follows the prefix. */
export const otherQuery = 'it answers another query: '

/** Reason why an answer has no rows: a refusal that was charged, an answer to another query, or an unusable body. */
export type Flaw = 'paid_refusal' | 'other_query' | 'unreadable'

/** Classifies `parse_error`, or returns null if there is no error. */
export function flawOf(parseError: string | null): Flaw | null {
  if (parseError === null) return null
  if (parseError.startsWith(paidRefusal)) return 'paid_refusal'
  return parseError.startsWith(otherQuery) ? 'other_query' : 'unreadable'
}

export interface StoredAnswer {
  readonly callId: number
  readonly status: number
  readonly receivedAt: Date
  readonly truncated: boolean
  readonly body: Buffer
  /** Null if the body is an error message, or if the body is incomplete because the connection broke. */
  readonly search: {
    readonly taskId: number
    readonly queryId: string
    readonly origin: Origin
    readonly api: string
    readonly answer: Answer
  } | null
}
