// Reads past nights of adaptive lists, with the calls they saved and the moves they hid.

import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'

/** An adaptive list: its newest decision, and the results of recent nights. */
export interface CadenceReceipt {
  readonly list: string
  /** Last night that was decided. */
  readonly run_date: string
  /** Number of queries with an interval of 1 day, 2 days and so on. */
  readonly intervals: readonly number[]
  readonly nights: number
  /** Totals over those nights: queries of the list, queries bought, queries skipped, and queries sampled. */
  readonly queries: number
  readonly asked: number
  readonly rested: number
  readonly by_chance: number
  readonly credits: number
  readonly credits_saved: number
  /** Sampled queries that were compared, and those that hid a move. */
  readonly compared: number
  readonly moved: number
}

const recentNights = 28

/** All adaptive lists, over the nights of the last four weeks. */
export function readCadenceReceipts(db: Database) {
  return readRows<CadenceReceipt>(db, 'read_resting_lists', { nights: recentNights })
}

/** A night of a list that is adaptive now or became adaptive later. */
export interface CadenceNightCost {
  readonly list: string
  readonly run_date: string
  readonly credits: number
  /** Null, like the following fields except moves, if all queries were bought on that night. */
  readonly credits_saved: number | null
  /** Observed number of pages that entered or left the top ten. */
  readonly moves: number | null
  /** Estimated number of skipped queries that hid a move, based on the sampled ones; also null if none was compared. */
  readonly hidden: number | null
  readonly hidden_low: number | null
  readonly hidden_high: number | null
}

/** All nights of adaptive lists, newest first, including nights before the lists became adaptive. */
export function readCadenceNightCosts(
  db: Database,
  { since, until }: { readonly since: string; readonly until: string },
) {
  return readRows<CadenceNightCost>(db, 'read_resting_nights', { since, until })
}
