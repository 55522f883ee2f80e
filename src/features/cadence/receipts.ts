// Reads past nights of adaptive lists, with the calls saved and the moves missed on each night.

import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'

/** An adaptive list, with its newest decision and the totals for recent nights. */
export interface CadenceReceipt {
  readonly list: string
  /** Newest night with stored decisions. */
  readonly run_date: string
  /** Numbers of queries with an interval of 1 day, 2 days, and so on. */
  readonly intervals: readonly number[]
  readonly nights: number
  /** Totals over these nights: listed, bought, skipped and sampled queries. */
  readonly queries: number
  readonly asked: number
  readonly rested: number
  readonly by_chance: number
  readonly credits: number
  readonly credits_saved: number
  /** Number of sampled queries that could be compared, and number of these queries with a move. */
  readonly compared: number
  readonly moved: number
}

export function readCadenceReceipts(db: Database) {
  return readRows<CadenceReceipt>(db, 'read_resting_lists', { nights: 28 })
}

/** Cost of one night of a list that is adaptive now and may have been adaptive on that night. */
export interface CadenceNightCost {
  readonly list: string
  readonly run_date: string
  readonly credits: number
  /** Null if all queries were bought on that night. In that case, all following fields except `moves` are null. */
  readonly credits_saved: number | null
  /** Observed number of pages that entered or left the top ten. */
  readonly moves: number | null
  /** Estimated number of skipped queries with a missed move; null if no sampled query was compared. */
  readonly hidden: number | null
  readonly hidden_low: number | null
  readonly hidden_high: number | null
}

/** Reads all nights of adaptive lists, newest first, including nights before a list became adaptive. */
export function readCadenceNightCosts(
  db: Database,
  { since, until }: { readonly since: string; readonly until: string },
) {
  return readRows<CadenceNightCost>(db, 'read_resting_nights', { since, until })
}
