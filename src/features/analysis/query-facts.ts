// Reads facts about a query.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import type { ReadSpan } from './span.ts'

/** A query with its parameters. */
export interface QueryFacts {
  readonly id: string
  readonly q: string
  readonly location: string | null
  readonly hl: string | null
  readonly gl: string | null
  readonly num: number
  readonly device: string | null
}

/** Finds a query by id; null if there is none. */
export async function readQueryFacts(db: Database, id: string): Promise<QueryFacts | null> {
  const { rows } = await sql<QueryFacts>`
    select id, q, location, hl, gl, num, device
    from queries
    where id = ${id}`.execute(db)
  return rows[0] ?? null
}

/** Labels and settings of a query on one list. */
export interface SaidOfQuery {
  readonly listId: number
  readonly list: string
  readonly weight: number | null
  readonly priority: number
  readonly tags: readonly string[]
  readonly target: string | null
  /** The line as on the list, if the query differs from it. */
  readonly given: string | null
  /** False if it was missing when the list was last read. */
  readonly current: boolean
}

/** Reads the settings of a query on all lists; lists that still contain it come first. */
export async function readSaidOf(db: Database, query: string): Promise<readonly SaidOfQuery[]> {
  const { rows } = await sql<SaidOfQuery>`
    select
      lists.id as "listId", lists.name as list, weight, priority, tags, target_url as target, given,
      list_queries.last_seen = (
        select max(others.last_seen)
        from list_queries as others
        where others.list_id = lists.id
      ) as current
    from list_queries
    join lists on lists.id = list_queries.list_id
    where query_id = ${query}
    order by current desc, lists.name`.execute(db)
  return rows
}

/** Query and days to read. */
interface QuerySpan extends Pick<ReadSpan, 'since' | 'until'> {
  readonly query: string
}

/** Outcome of a query in one run. */
export interface QueryDay {
  readonly runDate: string
  readonly run: number
  readonly listId: number
  readonly list: string
  readonly state: string
  readonly errorCode: string | null
  /** Readable answer of the day; null if none is shown. */
  readonly search: number | null
  /** Why there is none: `suspect`, `unreadable`, `archived`, `hidden` (origin not shown), or the state of the task. */
  readonly silence: string | null
  readonly depth: number | null
  readonly evidence: string | null
  readonly fetchedAt: Date | null
  readonly calls: number
  readonly credits: number
}

/** All runs that included a query, newest first, with the answer of the day and its cost. */
export async function readQueryDays(
  db: Database,
  { query, since, until }: QuerySpan,
): Promise<readonly QueryDay[]> {
  const { rows } = await sql<QueryDay>`
    select
      runs.run_date as "runDate", runs.id as run, runs.list_id as "listId", lists.name as list, tasks.state,
      tasks.error_code as "errorCode", observed.search_id as search,
      case
        when observed.search_id is not null then null
        when tasks.state not in ('answered', 'reused', 'not_asked') then tasks.state
        when searches.parse_error is not null then 'unreadable'
        when runs.run_date in (select run_date from analysis.away_days) or searches.archived then 'archived'
        when runs.suspect then 'suspect'
        else 'hidden'
      end as silence,
      observed.depth, observed.evidence,
      observed.fetched_at as "fetchedAt", spent.calls, spent.credits
    from runs
    join lists on lists.id = runs.list_id
    join tasks on tasks.run_id = runs.id and tasks.query_id = ${query}
    left join searches on searches.id = tasks.search_id
    left join (
      select *
      from analysis.observations
      where observations.query_id = ${query}
        and observations.run_date between ${since}::date and ${until}::date
      offset 0
    ) as observed on observed.run_date = runs.run_date
    cross join lateral (
      select
        count(*) filter (where outcome is distinct from 'unsent') as calls,
        coalesce(sum(credits_used), 0) as credits
      from calls
      where calls.task_id = tasks.id
    ) as spent
    where runs.run_date between ${since}::date and ${until}::date
    order by runs.run_date desc, runs.id desc`.execute(db)
  return rows
}

/** Best position of a domain on a day. A day without a row has no answer, or one without the domain. */
export interface DayRank {
  readonly runDate: string
  readonly domain: string
  readonly position: number
}

/** Positions of some domains for a query, day by day. */
export async function readDayRanks(
  db: Database,
  { query, since, until }: QuerySpan,
  domains: readonly string[],
): Promise<readonly DayRank[]> {
  const { rows } = await sql<DayRank>`
    select observed.run_date as "runDate", result_domains.domain, min(result_domains.position) as position
    from (
      select *
      from analysis.observations
      where observations.query_id = ${query}
        and observations.run_date between ${since}::date and ${until}::date
      offset 0
    ) as observed
    join public.result_domains on result_domains.search_id = observed.search_id
    where result_domains.domain = any (${domains}::text[])
      and result_domains.position is not null
    group by observed.run_date, result_domains.domain
    order by observed.run_date, result_domains.domain`.execute(db)
  return rows
}

/** Own domains on a day, followed by the highest-ranking ones in an answer. */
export async function readInteresting(
  db: Database,
  { search, day }: { readonly search: number | null; readonly day: string },
): Promise<readonly { readonly domain: string; readonly ours: boolean }[]> {
  const { rows } = await sql<{ domain: string; ours: boolean }>`
    select domain, bool_or(ours) as ours
    from (
      select domain, true as ours, 0 as position
      from analysis.ours_on(${day}::date)
      union all
      select domain, false, position
      from public.result_domains
      where search_id = ${search}
        and position is not null
        and domain is not null
    ) as known
    group by domain
    order by bool_or(ours) desc, max(position), domain
    limit 20`.execute(db)
  return rows.map(({ domain, ours }) => ({ domain, ours }))
}

/** An answer to a query as of a day. */
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
  /** Size of the body as received; null if it is no longer stored. */
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

/** A part of an answer other than its results. */
export interface SerpWords {
  readonly kind: 'entity' | 'group' | 'related' | 'block'
  readonly ordinal: number
  readonly text: string
  /** Type of an entity, or kind of a block. */
  readonly type: string | null
  /** Our own query with the text of a related search. */
  readonly query: string | null
}

/** Answer to a query on a day; null if none is shown. */
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

/** Results of an answer in order. */
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

/** The nearest days before and after a day on which a query has an answer. */
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

/** A stored body as received. */
interface BodyAsItCame {
  readonly body: Buffer
  readonly truncated: boolean
}

/** Body of a call for this query; null if there is none or it is no longer stored. */
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

export interface RankPoint {
  readonly domain: string
  readonly queryId: string
  readonly q: string
  readonly runDate: string
  /** Null: not in the answer. */
  readonly position: number | null
  readonly depth: number
}

/** A query with all parameters that distinguish it from others with the same text. */
export interface Variant {
  readonly queryId: string
  readonly q: string
  readonly device: string | null
  readonly location: string | null
  readonly hl: string | null
  readonly gl: string | null
  readonly num: number
}

/** A run whose answers are excluded from all charts. */
export interface SuspectRun {
  readonly runDate: string
  readonly list: string
  readonly reasons: readonly string[]
}

/** Newest suspect runs within some days. */
export async function readSuspects(
  trx: Database,
  { since, until }: Pick<ReadSpan, 'since' | 'until'>,
): Promise<readonly SuspectRun[]> {
  const { rows } = await sql<SuspectRun>`
    select run_date as "runDate", list, reasons
    from analysis.night_health
    where suspect
      and run_date between ${since}::date and ${until}::date
    order by run_date desc, run_id desc
    limit 30`.execute(trx)
  return rows
}

/** Domains with the largest shares of voice on a day; null: no day. */
export async function readGreatest(
  trx: Database,
  { day, most }: { readonly day: string | null; readonly most: number },
): Promise<readonly string[]> {
  const { rows } = await sql<{ domain: string }>`
    select domain
    from analysis.share_of_voice
    where tag = '*'
      and run_date = ${day}::date
      and share_of_voice is not null
    order by share_of_voice desc, domain
    limit ${most}::integer
  `.execute(trx)
  return rows.map(({ domain }) => domain)
}

/** Positions of some domains for their highest-weighted queries, day by day. */
export async function readRanks(
  trx: Database,
  {
    domains,
    since,
    until,
  }: Pick<ReadSpan, 'since' | 'until'> & {
    readonly domains: readonly string[]
  },
): Promise<readonly RankPoint[]> {
  const { rows } = await sql<RankPoint>`
    select domain, query_id as "queryId", q, run_date as "runDate", position, depth
    from (
      select
        history.*,
        dense_rank() over (
          partition by domain
          order by (position_count > 0) desc, weight desc, position_count desc, query_id
        ) as place
      from (
        select
          rank_history.*,
          coalesce(weights.weight, 1) as weight,
          count(position) over (partition by rank_history.query_id, domain) as position_count
        from analysis.rank_history
        left join analysis.latest_weights as weights on weights.query_id = rank_history.query_id
        where domain = any (${domains}::text[])
          and run_date between ${since}::date and ${until}::date
      ) as history
      where position_count > 0
    ) as ordered
    where place <= 9
    order by domain, place, run_date
  `.execute(trx)
  return rows
}

/** All queries with some texts, including those for other devices or places. */
export async function readVariants(
  trx: Database,
  texts: readonly string[],
): Promise<readonly Variant[]> {
  const { rows } = await sql<Variant>`
    select id as "queryId", q, device, location, hl, gl, num
    from queries
    where q = any (${[...new Set(texts)]}::text[])
  `.execute(trx)
  return rows
}
