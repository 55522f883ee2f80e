// Reads a page's positions, day by day, and their changes.

import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { DomainDay, PlaceMove } from './domains.ts'
import type { DaySpan } from '../../base/time/zone.ts'

/** Finds a page by id; null if there is no such page. */
export async function readPageFacts(db: Database, id: string) {
  const found = await db
    .selectFrom('pages')
    .leftJoin('domains', 'domains.id', 'pages.domain_id')
    .select(['pages.id', 'pages.url', 'pages.url_key as key', 'domains.domain'])
    .where('pages.id', '=', id)
    .executeTakeFirst()
  return found ?? null
}

export interface PageDay {
  readonly runDate: string
  readonly queryId: string
  readonly q: string
  readonly variant: string
  readonly position: number
  readonly title: string | null
  readonly search: number
}

/** Maximum number of positions read per page. */
export const mostPageDays = 20_000

/** Reads all of a page's positions, under every spelling of its URL, newest first. */
export function readPageDays(
  db: Database,
  { key, since, until }: DaySpan & { readonly key: string },
) {
  return readRows<PageDay>(db, 'read_page_days', { key, since, until, most: mostPageDays })
}

/** Newest answer, within the period, to a query that was bought again after the page ranked for the query. */
export interface NewestAnswer {
  readonly queryId: string
  readonly runDate: string
  readonly search: number
  readonly depth: number
  /** Domain at the page's last position. */
  readonly taker: string | null
}

/** Newest answers to some queries, each with the domain at the page's last position. */
export function readNewestAnswers(
  db: Database,
  places: readonly { readonly queryId: string; readonly position: number }[],
  { since, until }: DaySpan,
) {
  return readRows<NewestAnswer>(db, 'read_newest_answers', {
    queries: places.map(({ queryId }) => queryId),
    positions: places.map(({ position }) => position),
    since,
    until,
  })
}

/** Reads the sums for a page, under every spelling of its URL, day by day. They are computed like a domain's sums. */
export function readPageHoldings(
  db: Database,
  { key, since, until }: DaySpan & { readonly key: string },
) {
  return readRows<DomainDay>(db, 'read_page_holdings', { since, until, key })
}

/** A page's position change for one query, between the last known answers on two days. */
interface PageMove extends PlaceMove {
  /**
   * Domain that now has the page's previous position; null if that domain is unknown, or if the page had no previous
   * position.
   */
  readonly taker: string | null
}

/** A page's position changes, under every spelling of its URL, between two days, largest gains and losses first. */
export function readPageMoves(
  db: Database,
  { key, since, until }: DaySpan & { readonly key: string },
) {
  return readRows<PageMove>(db, 'read_page_moves', { since, until, key })
}
