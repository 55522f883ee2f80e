import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** One answer to a query, as of a day. */
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
  /** Bytes of the body as it came; null: it is not kept any more. */
  readonly bytes: number | null
}

/** One result of an answer. */
export interface SerpResult {
  readonly ordinal: number
  readonly position: number | null
  readonly title: string | null
  readonly snippet: string | null
  readonly url: string | null
  readonly page: string | null
  readonly pageKey: string | null
  readonly domain: string | null
}

/** What an answer holds besides its results. */
export interface SerpWords {
  readonly kind: 'entity' | 'group' | 'related' | 'block'
  readonly ordinal: number
  readonly text: string
  /** The type of an entity, the kind of a block. */
  readonly type: string | null
  /** A query of ours that a related search is. */
  readonly query: string | null
}

/** The answer to a query of a day; null: there is none that is shown. */
export async function readSerp(db: Database, query: string, day: string): Promise<Serp | null> {
  const { rows } = await sql<Serp>`
    select
      observed.run_date as "runDate", observed.search_id as search, searches.call_id as call, observed.depth,
      observed.evidence, observed.fetched_at as "fetchedAt", observed.origin, observed.intent, observed.sentiment,
      searches.credits_used as credits, octet_length(raw_answers.body) as bytes
    from analysis.observations as observed
    join searches on searches.id = observed.search_id
    left join raw_answers on raw_answers.call_id = searches.call_id
    where observed.query_id = ${query}
      and observed.run_date = ${day}::date`.execute(db)
  return rows[0] ?? null
}

/** The results of an answer in their order. */
export async function readSerpResults(
  db: Database,
  search: number,
): Promise<readonly SerpResult[]> {
  const { rows } = await sql<SerpResult>`
    select
      result_domains.ordinal, result_domains.position, result_domains.title, result_domains.snippet, pages.url,
      result_domains.page_id as page, result_domains.url_key as "pageKey", result_domains.domain
    from public.result_domains
    left join pages on pages.id = result_domains.page_id
    where result_domains.search_id = ${search}
    order by result_domains.ordinal`.execute(db)
  return rows
}

/** Entities, groups, related searches and blocks of an answer. */
export async function readSerpWords(db: Database, search: number): Promise<readonly SerpWords[]> {
  const { rows } = await sql<SerpWords>`
    select words.kind, words.ordinal, words.text, words.type, (
      select (array_agg(queries.id order by queries.device, queries.id))[1]
      from queries
      where words.kind = 'related'
        and queries.q = words.text
    ) as query
    from (
      select 'entity' as kind, ordinal, name as text, type
      from search_entities
      join entities on entities.id = entity_id
      where search_id = ${search}
      union all
      select 'group', ordinal, label, null
      from search_clusters
      join clusters on clusters.id = cluster_id
      where search_id = ${search}
      union all
      select 'related', ordinal, q, null
      from search_related_searches
      join related_searches on related_searches.id = related_search_id
      where search_id = ${search}
      union all
      select 'block', ordinal, coalesce(search_features.text, ''), search_features.kind
      from search_features
      where search_id = ${search}
    ) as words
    order by words.kind, words.ordinal`.execute(db)
  return rows
}

/** Days near one on which a query has an answer: the one before it, the one after it. */
export async function readNeighbours(
  db: Database,
  query: string,
  day: string,
): Promise<{ readonly before: string | null; readonly after: string | null }> {
  const { rows } = await sql<{ before: string | null; after: string | null }>`
    select
      max(run_date) filter (where run_date < ${day}::date) as before,
      min(run_date) filter (where run_date > ${day}::date) as after
    from analysis.observations
    where query_id = ${query}`.execute(db)
  return rows[0] ?? { before: null, after: null }
}

/** A kept body as it came. */
export interface BodyAsItCame {
  readonly body: Buffer
  readonly truncated: boolean
}

/** The body of a call that asked this query; null: there is none, or it is not kept. */
export async function readKeptBody(
  db: Database,
  query: string,
  call: number,
): Promise<BodyAsItCame | null> {
  const { rows } = await sql<BodyAsItCame>`
    select body, truncated
    from raw_answers
    join calls on calls.id = raw_answers.call_id
    where raw_answers.call_id = ${call}
      and calls.query_id = ${query}`.execute(db)
  return rows[0] ?? null
}
