// Reads the answers and positions on which alerts are based.

import type { Database } from '../../base/database/database.ts'
import { statement } from '../../base/database/sql-file.ts'

/** A query of a run, with the attributes from its lists. */
export interface AskedQuery {
  readonly query_id: string
  readonly q: string
  /** Parameters other than its text. */
  readonly variant: string
  /** Its labels on that day, including list=, device= and the like. */
  readonly labels: readonly string[]
  /** Target page for the run's list, and its domain. */
  readonly target_page: string | null
  readonly target_domain: string | null
}

/** Next queries of a run that have an answer, ordered by id. */
export async function readAsked(
  trx: Database,
  { run, date }: { readonly run: number; readonly date: string },
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly AskedQuery[]> {
  const { rows } = await trx.executeQuery(
    statement<AskedQuery>('read_asked_queries', { run, after, limit, date }),
  )
  return rows
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
 * Newest answers to some queries, up to a limit per query, oldest first, one per day: those for days up to the given
 * one, and for later days that have already been checked.
 */
export async function readEvidence(
  trx: Database,
  queries: readonly string[],
  { date, limit }: { readonly date: string; readonly limit: number },
): Promise<readonly RankAnswer[]> {
  const { rows } = await trx.executeQuery(
    statement<RankAnswer>('read_rank_evidence', { queries, date, limit }),
  )
  return rows
}

/** An answer by id, even if its run is no longer trusted. */
export type ShownAnswer = Pick<RankAnswer, 'search_id' | 'depth' | 'features'>

/** Answers that alerts are based on. */
export async function readAnswersById(
  trx: Database,
  searches: readonly number[],
): Promise<readonly ShownAnswer[]> {
  const { rows } = await trx.executeQuery(
    statement<ShownAnswer>('read_alert_answers', { searches }),
  )
  return rows
}

/** Best position of a domain in an answer, and its page there. */
export interface Place {
  readonly search_id: number
  readonly domain: string
  readonly position: number
  readonly page: string | null
}

/** Best positions of some domains in some answers; null: of all domains. */
export async function readPlaces(
  trx: Database,
  searches: readonly number[],
  domains: readonly string[] | null,
): Promise<readonly Place[]> {
  const { rows } = await trx.executeQuery(
    statement<Place>('read_best_places', { searches, domains }),
  )
  return rows
}

/** A position whose domain is to be looked up. */
interface SoughtPlace {
  readonly search_id: number
  readonly position: number
}

/** Looks up the domains at the given positions. Positions without a domain are left out. */
export async function readHolders(
  trx: Database,
  sought: readonly SoughtPlace[],
): Promise<readonly (SoughtPlace & { readonly domain: string })[]> {
  const { rows } = await trx.executeQuery(
    statement<{ search_id: number; position: number; domain: string }>('read_holders', {
      searches: sought.map((place) => place.search_id),
      positions: sought.map(({ position }) => position),
    }),
  )
  return rows
}
