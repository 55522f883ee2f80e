import type { ListPiece } from '../../lists/read.ts'
import type { ListedQuery } from '../../lists/rows.ts'
import type { Query } from '../../shared/query.ts'

/** What a list came to while it was read. */
export interface ListTally {
  usable: number
  queries: number
  rejected: number
  lines: number
  /** No line says more about its query than a priority and a weight. */
  plain: boolean
  /** A line says how often its query is asked, or how old its answer may be. */
  wished: boolean
  /** The first reasons, for a person. */
  reasons: readonly string[]
  /** What is asked for, as far as prices depend on it; more than one is as many as it takes. */
  requests: readonly { readonly num: number; readonly device: string | null }[]
  /** The first queries and the last one, as they will be sent. */
  first: readonly Query[]
  last: Query | null
}

/** A tally of nothing yet. */
export function emptyTally(): ListTally {
  const counts = { usable: 0, queries: 0, rejected: 0, lines: 0 }
  return { ...counts, plain: true, wished: false, reasons: [], requests: [], first: [], last: null }
}

const shownReasons = 3

const shownQueries = 3

/** Adds what a piece of the list gave. */
export function countPiece(tally: ListTally, { queries, rejected, usable, line }: ListPiece): void {
  tally.usable += usable
  tally.queries += queries.length
  tally.rejected += rejected.length
  tally.lines = line
  tally.plain &&= queries.every(isPlain)
  tally.wished ||= queries.some(
    ({ everyDays, maxAgeMs }) => everyDays !== null || maxAgeMs !== null,
  )
  if (tally.reasons.length < shownReasons) {
    const more = rejected.map((found) => `line ${found.line}: ${found.reason}`)
    tally.reasons = [...tally.reasons, ...more].slice(0, shownReasons)
  }
  if (tally.first.length < shownQueries) {
    const more = queries.slice(0, shownQueries).map(({ query }) => query)
    tally.first = [...tally.first, ...more].slice(0, shownQueries)
  }
  tally.last = queries.at(-1)?.query ?? tally.last
  for (const { query } of queries) {
    if (tally.requests.length > 1) return
    const [known] = tally.requests
    if (known?.num === query.num && known.device === query.device) continue
    tally.requests = [...tally.requests, { num: query.num, device: query.device }]
  }
}

function isPlain({ tags, target, given }: ListedQuery): boolean {
  return tags.length === 0 && target === null && given === null
}
