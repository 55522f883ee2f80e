// Reads facts about a query.

import type { Database } from '../../base/database/database.ts'
import type { NotNull } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { newestReading } from './list-facts.ts'
import type { DaySpan } from '../../base/time/zone.ts'

export type QueryFacts = NonNullable<Awaited<ReturnType<typeof readQueryFacts>>>

/** Finds a query by id; null if there is no such query. */
export async function readQueryFacts(db: Database, id: string) {
  const found = await db
    .selectFrom('queries')
    .select(['id', 'q', 'location', 'hl', 'gl', 'num', 'device'])
    .where('id', '=', id)
    .executeTakeFirst()
  return found ?? null
}

/** Reads a query's settings on all lists. Lists that still contain the query come first. */
export function readSaidOf(db: Database, query: string) {
  return db
    .selectFrom('list_queries')
    .innerJoin('lists', 'lists.id', 'list_queries.list_id')
    .select(['lists.id as listId', 'lists.name as list', 'list_queries.weight'])
    .select(['list_queries.priority', 'list_queries.tags', 'list_queries.given'])
    .select('list_queries.target_url as target')
    .select((eb) =>
      eb('list_queries.last_seen', '=', newestReading(eb)).$castTo<boolean>().as('current'),
    )
    .where('list_queries.query_id', '=', query)
    .orderBy('current', 'desc')
    .orderBy('lists.name')
    .execute()
}

interface QuerySpan extends DaySpan {
  readonly query: string
}

/** A query's outcome in one run. */
export interface QueryDay {
  readonly runDate: string
  readonly run: number
  readonly listId: number
  readonly list: string
  readonly state: string
  readonly errorCode: string | null
  /** Readable answer for the day; null if no answer is shown. */
  readonly search: number | null
  /**
   * Reason why no answer is shown: `suspect`, `unreadable`, `archived`, `hidden` (origin not shown), or the state of
   * the task.
   */
  readonly silence: string | null
  readonly depth: number | null
  readonly evidence: string | null
  readonly fetchedAt: Date | null
  readonly calls: number
  readonly credits: number
}

/** All runs that included a query, newest first, with the answer for the day and its cost. */
export function readQueryDays(db: Database, { query, since, until }: QuerySpan) {
  return readRows<QueryDay>(db, 'read_query_days', { query, since, until })
}

/** A domain's best position on a day. A day without a row has no answer, or an answer without the domain. */
export interface DayRank {
  readonly runDate: string
  readonly domain: string
  readonly position: number
}

/** Positions of some domains for a query, day by day. */
export function readDayRanks(
  db: Database,
  { query, since, until }: QuerySpan,
  domains: readonly string[],
) {
  return readRows<DayRank>(db, 'read_day_ranks', { query, since, until, domains })
}

/** One of the first results in a bought answer. The page is null if the answer names no page. */
export interface ShownResult {
  readonly runDate: string
  readonly depth: number | null
  /** SERP features in the answer. */
  readonly features: readonly string[]
  readonly page: string | null
  readonly pageKey: string | null
  readonly domain: string | null
  readonly title: string | null
  readonly position: number | null
}

/** Reads the first results of a query's newest answers, newest first. */
export function readFirstResults(
  db: Database,
  { query, since, until }: QuerySpan,
  { places, most }: { readonly places: number; readonly most: number },
) {
  return readRows<ShownResult>(db, 'read_query_pages', { query, since, until, places, most })
}

/** Domains that are our own on a day, followed by the highest-ranking domains in an answer. */
export async function readInteresting(
  db: Database,
  { search, day }: { readonly search: number | null; readonly day: string },
): Promise<readonly { readonly domain: string; readonly ours: boolean }[]> {
  const rows = await readRows<{ domain: string; ours: boolean }>(db, 'read_interesting_domains', {
    day,
    search,
  })
  return rows.map(({ domain, ours }) => ({ domain, ours }))
}

/** The answer that counts for a query and a day. */
export interface Serp {
  readonly runDate: string
  readonly search: number
  readonly call: number
  readonly depth: number
  readonly evidence: string
  readonly fetchedAt: Date
  readonly origin: string
  readonly intent: string | null
  readonly sentiment: string | null
  readonly credits: number | null
  /** Size of the body as received; null if the body is no longer stored. */
  readonly bytes: number | null
}

/** A part of an answer other than its results. */
export interface SerpWords {
  readonly kind: 'entity' | 'group' | 'related' | 'block'
  readonly ordinal: number
  readonly text: string
  /** Entity type, or block kind. */
  readonly type: string | null
  /** Id of a known query with the same text as the related search; null if there is no such query. */
  readonly query: string | null
}

/** Answer to a query on a day; null if no answer is shown. */
export async function readSerp(db: Database, query: string, day: string): Promise<Serp | null> {
  const rows = await readRows<Serp>(db, 'read_serp', { query, day })
  return rows[0] ?? null
}

export type SerpResult = Awaited<ReturnType<typeof readSerpResults>>[number]

/** An answer's results, in order. */
export function readSerpResults(db: Database, search: number) {
  return db
    .selectFrom('result_domains as shown')
    .leftJoin('pages', 'pages.id', 'shown.page_id')
    .select(['shown.ordinal', 'shown.position', 'shown.title', 'shown.snippet', 'pages.url'])
    .select(['shown.page_id as page', 'shown.url_key as pageKey', 'shown.domain'])
    .where('shown.search_id', '=', search)
    .orderBy('shown.ordinal')
    .$narrowType<{ ordinal: NotNull }>()
    .execute()
}

/** Entities, clusters, related searches and blocks in an answer. */
export function readSerpWords(db: Database, search: number) {
  return readRows<SerpWords>(db, 'read_serp_words', { search })
}

/** The nearest days, before and after a given day, on which a query has an answer. */
export async function readNeighbours(
  db: Database,
  query: string,
  day: string,
): Promise<{ readonly before: string | null; readonly after: string | null }> {
  const rows = await readRows<{ before: string | null; after: string | null }>(
    db,
    'read_neighbour_days',
    {
      day,
      query,
    },
  )
  return rows[0] ?? { before: null, after: null }
}

/** Body of a call for this query; null if the call has no body, or if the body is no longer stored. */
export async function readKeptBody(db: Database, query: string, call: number) {
  const body = await db
    .selectFrom('raw_answers')
    .innerJoin('calls', 'calls.id', 'raw_answers.call_id')
    .select(['raw_answers.body', 'raw_answers.truncated'])
    .where('raw_answers.call_id', '=', call)
    .where('calls.query_id', '=', query)
    .executeTakeFirst()
  return body ?? null
}

export interface RankPoint {
  readonly domain: string
  readonly queryId: string
  readonly q: string
  readonly runDate: string
  /** The domain's position; null if the domain is not in the answer. */
  readonly position: number | null
  readonly depth: number
}

/** A run whose answers are excluded from all charts. */
export interface SuspectRun {
  readonly runDate: string
  readonly list: string
  readonly reasons: readonly string[]
}

/** Newest suspect runs within a period. */
export function readSuspects(trx: Database, { since, until }: DaySpan) {
  return readRows<SuspectRun>(trx, 'read_suspect_runs', { since, until })
}

/** Domains with the largest shares of voice on a day; empty if no day is given. */
export async function readGreatest(
  trx: Database,
  { day, most }: { readonly day: string | null; readonly most: number },
): Promise<readonly string[]> {
  const rows = await readRows<{ domain: string }>(trx, 'read_greatest_domains', { day, most })
  return rows.map(({ domain }) => domain)
}

/** Positions of some domains for their highest-weighted queries, day by day. */
export function readRanks(
  trx: Database,
  {
    domains,
    since,
    until,
  }: DaySpan & {
    readonly domains: readonly string[]
  },
) {
  return readRows<RankPoint>(trx, 'read_ranks', { domains, since, until })
}

/** A query with all parameters that distinguish it from other queries with the same text. */
export type Variant = Awaited<ReturnType<typeof readVariants>>[number]

/** All queries with the given texts, for any device or place. */
export function readVariants(trx: Database, texts: readonly string[]) {
  return trx
    .selectFrom('queries')
    .select(['id as queryId', 'q', 'device', 'location', 'hl', 'gl', 'num'])
    .where((eb) => eb('q', '=', eb.fn.any(eb.val([...new Set(texts)]))))
    .execute()
}
