// Reads a page's daily positions, and their changes.

import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { DomainDay, PlaceMove } from './domains.ts'
import type { DaySpan } from '../../base/time/zone.ts'

/** A page, including all spellings of its URL, and a period. */
interface PageSpan extends DaySpan {
  readonly key: string
}

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

export const mostPageDays = 20_000

/** Reads a page's positions, under all spellings of its URL, newest first. */
export function readPageDays(db: Database, { key, since, until }: PageSpan) {
  return readRows<PageDay>(db, 'read_page_days', { key, since, until, most: mostPageDays })
}

/** A query's newest answer in a period. The page has ranked for the query. */
export interface NewestAnswer {
  readonly queryId: string
  readonly runDate: string
  readonly search: number
  readonly depth: number
  /** Domain that now holds the page's old position. */
  readonly taker: string | null
}

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

/** Reads a page's daily sums, which cover all spellings of its URL. Domain sums are computed in the same way. */
export function readPageHoldings(db: Database, { key, since, until }: PageSpan) {
  return readRows<DomainDay>(db, 'read_page_holdings', { since, until, key })
}

/** Change in a page's position between the last known answers to a query on two days. */
interface PageMove extends PlaceMove {
  /** Domain that now holds the page's previous position; null if unknown, or if there was no such position. */
  readonly taker: string | null
}

/** Reads the position changes of a page (all spellings of its URL) between two days, largest changes first. */
export function readPageMoves(db: Database, { key, since, until }: PageSpan) {
  return readRows<PageMove>(db, 'read_page_moves', { since, until, key })
}
