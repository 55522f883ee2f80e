// Reads facts about a query.

import type { Database } from '../../base/database/database.ts'
import type { NotNull } from '../../base/database/kysely.ts'
import { only, readRows } from '../../base/database/sql-file.ts'
import { newestReading } from './list-facts.ts'
import type { DaySpan } from '../../base/time/zone.ts'

export async function readQueryFacts(db: Database, id: string) {
  const found = await db
    .selectFrom('queries')
    .select(['id', 'q', 'location', 'hl', 'gl', 'num', 'device'])
    .where('id', '=', id)
    .executeTakeFirst()
  return found ?? null
}

export function readSaidOf(db: Database, query: string) {
  return db
    .selectFrom('list_queries')
    .innerJoin('lists', 'lists.id', 'list_queries.list_id')
    .select(['lists.id as listId', 'lists.name as list', 'list_queries.weight'])
    .select(['list_queries.priority', 'list_queries.tags', 'list_queries.given'])
    .select('list_queries.target_url as target')
    .select((eb) =>
      eb('list_queries.last_seen', '=', newestReading(eb.ref('lists.id')))
        .$castTo<boolean>()
        .as('current'),
    )
    .where('list_queries.query_id', '=', query)
    .orderBy('current', 'desc')
    .orderBy('lists.name')
    .execute()
}

interface QuerySpan extends DaySpan {
  readonly query: string
}

interface QueryDay {
  readonly runDate: string
  readonly run: number
  readonly listId: number
  readonly list: string
  readonly state: string
  readonly errorCode: string | null
  /** The day's readable answer, or null if no answer is shown. */
  readonly search: number | null
  /** Reason why no answer is shown: `suspect`, `unreadable`, `archived`, `hidden` (by origin), or the task's state. */
  readonly silence: string | null
  readonly depth: number | null
  readonly evidence: string | null
  readonly fetchedAt: Date | null
  readonly calls: number
  readonly credits: number
}

/** Reads all runs that included a query, newest first, each with its answer and cost. */
export function readQueryDays(db: Database, { query, since, until }: QuerySpan) {
  return readRows<QueryDay>(db, 'read_query_days', { query, since, until })
}

/** A domain's best position on a day. Days without a row have no answer, or an answer without the domain. */
interface DayRank {
  readonly runDate: string
  readonly domain: string
  readonly position: number
}

export function readDayRanks(
  db: Database,
  { query, since, until }: QuerySpan,
  domains: readonly string[],
) {
  return readRows<DayRank>(db, 'read_day_ranks', { query, since, until, domains })
}

/** One of the top results in a purchased answer. The page is null if the result names no page. */
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

/** Reads the top results in a query's newest answers, newest answer first. */
export function readFirstResults(
  db: Database,
  { query, since, until }: QuerySpan,
  { places, most }: { readonly places: number; readonly most: number },
) {
  return readRows<ShownResult>(db, 'read_query_pages', { query, since, until, places, most })
}

/** Reads the domains that are ours on a day, and then the highest-ranking domains in an answer. */
export function readInteresting(
  db: Database,
  parameters: { readonly search: number | null; readonly day: string },
) {
  return readRows<{ domain: string; ours: boolean }>(db, 'read_interesting_domains', parameters)
}

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
  /** Size of the body as received, or null if it is no longer stored. */
  readonly bytes: number | null
}

/** Text in an answer that does not belong to a result. */
export interface SerpWords {
  readonly kind: 'entity' | 'group' | 'related' | 'block'
  readonly ordinal: number
  readonly text: string
  /** Type of the entity, or kind of the block. */
  readonly type: string | null
  /** Id of the query with the same text as the related search, or null if no such query exists. */
  readonly query: string | null
}

/** Reads the answer to a query on a day, or returns null if no answer is shown. */
export async function readSerp(db: Database, query: string, day: string): Promise<Serp | null> {
  const rows = await readRows<Serp>(db, 'read_serp', { query, day })
  return rows[0] ?? null
}

export type SerpResult = Awaited<ReturnType<typeof readSerpResults>>[number]

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

/** Reads the entities, clusters, related searches and blocks in an answer. */
export function readSerpWords(db: Database, search: number) {
  return readRows<SerpWords>(db, 'read_serp_words', { search })
}

/** Reads the nearest days, before and after a given day, on which a query has an answer. */
export async function readNeighbours(db: Database, query: string, day: string) {
  type Days = Readonly<Record<'before' | 'after', string | null>>
  return only(await readRows<Days>(db, 'read_neighbour_days', { day, query }))
}

/** Reads the body of a call for this query, or returns null if no body is stored. */
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
  /** The domain's position, or null if the answer does not contain it. */
  readonly position: number | null
  readonly depth: number
}

/** A run that is excluded from all charts. */
export interface SuspectRun {
  readonly runDate: string
  readonly list: string
  readonly reasons: readonly string[]
}

export function readSuspects(trx: Database, { since, until }: DaySpan) {
  return readRows<SuspectRun>(trx, 'read_suspect_runs', { since, until })
}

/** Reads the domains with the largest shares of voice on a day. If the day is null, the result is empty. */
export async function readGreatest(
  trx: Database,
  { day, most }: { readonly day: string | null; readonly most: number },
): Promise<readonly string[]> {
  const rows = await readRows<{ domain: string }>(trx, 'read_greatest_domains', { day, most })
  return rows.map(({ domain }) => domain)
}

/** Reads the daily positions of the given domains for the queries with the highest weights. */
export function readRanks(trx: Database, domains: readonly string[], { since, until }: DaySpan) {
  return readRows<RankPoint>(trx, 'read_ranks', { domains, since, until })
}

/** A query, with all parameters that distinguish it from other queries with the same text. */
export type Variant = Awaited<ReturnType<typeof readVariants>>[number]

/** Reads all queries with the given texts, for any device or place. */
export function readVariants(trx: Database, texts: readonly string[]) {
  return trx
    .selectFrom('queries')
    .select(['id as queryId', 'q', 'device', 'location', 'hl', 'gl', 'num'])
    .where((eb) => eb('q', '=', eb.fn.any(eb.val(texts))))
    .execute()
}
