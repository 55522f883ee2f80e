// Reads the answers and positions on which alerts are based.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'

// Non-empty blocks not named in the specification.
const featuresOf = sql<string[]>`array(
  select key
  from jsonb_each(case when jsonb_typeof(searches.extra) = 'object' then searches.extra else '{}' end)
  where value not in ('null', '[]', '{}', '""', 'false')
  order by key
)`

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
  const { rows } = await sql<AskedQuery>`
    select
      asked.query_id, queries.q,
      analysis.variant(queries.device, queries.location, queries.hl, queries.gl, queries.num) as variant,
      coalesce(days.slices, '{}') as labels,
      analysis.page_name(said.target_key) as target_page,
      regexp_replace(substring(said.target_key from '^[^/?:]*'), '^www\\.(?=.)', '') as target_domain
    from (
      select tasks.query_id
      from tasks
      where tasks.run_id = ${run}
        and tasks.state in ('answered', 'reused')
        and tasks.query_id > ${after}::uuid
      order by tasks.query_id
      limit ${limit}
    ) as asked
    join queries on queries.id = asked.query_id
    left join lateral (
      select query_days.slices
      from analysis.query_days
      where query_days.run_date = ${date}::date
        and query_days.query_id = asked.query_id
      -- Query by query, by its keys.
      offset 0
    ) as days on true
    left join lateral (
      select analysis.url_key(memberships.target_url) as target_key
      from analysis.memberships
      where memberships.run_id = ${run}
        and memberships.query_id = asked.query_id
      offset 0
    ) as said on true
    order by asked.query_id`.execute(trx)
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
  const { rows } = await sql<RankAnswer>`
    select distinct on (found.query_id, found.run_date)
      found.query_id, found.search_id, found.run_id, found.run_date, found.depth, found.origin, found.api,
      found.features
    from unnest(${[...queries]}::uuid[]) as asked (query_id)
    cross join lateral (
      select
        searches.query_id, searches.id as search_id, searches.fetched_at, runs.id as run_id, runs.run_date,
        coalesce(searches.depth, 0) as depth, searches.origin, searches.api,
        ${featuresOf} as features
      from searches
      join tasks on tasks.id = searches.task_id
      join runs on runs.id = tasks.run_id
      join night_health as health on health.run_id = runs.id
      where searches.query_id = asked.query_id
        and searches.parse_error is null
        -- Of what is in the archive nobody can tell here what it showed.
        and not searches.archived
        and not runs.suspect
        and not exists (select from quarantine where quarantine.search_id = searches.id)
        and runs.state in ('done', 'cancelled')
        and health.judged_at >= runs.finished_at
        and (runs.run_date <= ${date}::date or health.alerts_at is not null)
      order by searches.fetched_at desc
      limit ${limit}
    ) as found
    order by found.query_id, found.run_date, found.fetched_at desc, found.search_id desc`.execute(
    trx,
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
  const { rows } = await sql<ShownAnswer>`
    select searches.id as search_id, coalesce(searches.depth, 0) as depth, ${featuresOf} as features
    from searches
    where searches.id = any(${[...searches]}::bigint[])`.execute(trx)
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
  const { rows } = await sql<Place>`
    select
      best.search_id, best.domain, best.place >> 20 as position, analysis.page_name(pages.url_key) as page
    from (
      select held.search_id, held.domain, min(held.place) as place
      from unnest(${[...searches]}::bigint[]) as asked (search_id)
      cross join lateral (
        select *
        from result_domains
        where result_domains.search_id = asked.search_id
        offset 0
      ) as held
      where held.place is not null
        and held.domain is not null
        and (${domains === null}::boolean or held.domain = any(${domains === null ? [] : [...domains]}::text[]))
      group by held.search_id, held.domain
    ) as best
    join organic_results as shown
      on shown.search_id = best.search_id
      and shown.ordinal = (best.place & 1048575)
    left join pages on pages.id = shown.page_id`.execute(trx)
  return rows
}

/** A position whose domain is to be looked up. */
interface SoughtPlace {
  readonly search_id: number
  readonly position: number
}

/** Looks up the domains at some positions, where the answer has one. */
export async function readHolders(
  trx: Database,
  sought: readonly SoughtPlace[],
): Promise<readonly (SoughtPlace & { readonly domain: string })[]> {
  const { rows } = await sql<{ search_id: number; position: number; domain: string }>`
    select distinct on (asked.search_id, asked.position) asked.search_id, asked.position, held.domain
    from unnest(
      ${sought.map(({ search_id: search }) => search)}::bigint[],
      ${sought.map(({ position }) => position)}::bigint[]
    ) as asked (search_id, position)
    join result_domains as held on held.search_id = asked.search_id and held.position = asked.position
    where held.domain is not null
    order by asked.search_id, asked.position, held.ordinal`.execute(trx)
  return rows
}
