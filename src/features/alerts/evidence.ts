// Reads the answers and positions on which alerts are based.

import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'

/** A query of a run, with the attributes from its lists. */
export interface AskedQuery {
  readonly query_id: string
  readonly q: string
  /** The parameters of the query other than its text. */
  readonly variant: string
  /** Its tags on that day, including list=, device= and the like. */
  readonly labels: readonly string[]
  /** Target page for the run's list, and its domain. */
  readonly target_page: string | null
  readonly target_domain: string | null
}

/** Next answered queries of a run, ordered by id. */
export function readAsked(
  trx: Database,
  next: {
    readonly run: number
    readonly date: string
    readonly after: string
    readonly limit: number
  },
) {
  return readRows<AskedQuery>(trx, 'read_asked_queries', next)
}

/** An answer usable as evidence: its run has been judged and is not suspect. */
export interface RankAnswer {
  readonly query_id: string
  readonly search_id: number
  readonly run_id: number
  readonly run_date: string
  readonly depth: number
  readonly origin: string
  readonly api: string
  readonly features: readonly string[]
}

/**
 * Newest answers to some queries, up to a limit per query, oldest first, one per day. Includes answers up to the given
 * day, and those of later days that have already been checked.
 */
export function readEvidence(
  trx: Database,
  about: { readonly queries: readonly string[]; readonly date: string; readonly limit: number },
) {
  return readRows<RankAnswer>(trx, 'read_rank_evidence', about)
}

/** An answer that was read by its id, even if its run is no longer trusted. */
export type ShownAnswer = Pick<RankAnswer, 'search_id' | 'depth' | 'features'>

/** Answers that alerts are based on. */
export function readAnswersById(trx: Database, searches: readonly number[]) {
  return readRows<ShownAnswer>(trx, 'read_alert_answers', { searches })
}

/** Best position of a domain in an answer, and its page there. */
export interface Place {
  readonly search_id: number
  readonly domain: string
  readonly position: number
  readonly page: string | null
}

/** Best positions of some domains in some answers, by answer and domain; null means all domains. */
export async function readPlaces(
  trx: Database,
  searches: readonly number[],
  domains: readonly string[] | null,
): Promise<ReadonlyMap<number, ReadonlyMap<string, Place>>> {
  const rows = await readRows<Place>(trx, 'read_best_places', { searches, domains })
  const found = new Map<number, Map<string, Place>>()
  for (const place of rows) {
    const held = found.get(place.search_id) ?? new Map<string, Place>()
    found.set(place.search_id, held.set(place.domain, place))
  }
  return found
}

/** Domain at a position of an answer. */
interface Holder {
  readonly search_id: number
  readonly position: number
  readonly domain: string
}

/** Looks up the domains at the given positions. Positions without a domain are left out. */
export async function readHolders(trx: Database, sought: readonly Omit<Holder, 'domain'>[]) {
  const searches = sought.map((place) => place.search_id)
  const positions = sought.map(({ position }) => position)
  return readRows<Holder>(trx, 'read_holders', { searches, positions })
}
