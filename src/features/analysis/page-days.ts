// Reads the positions of a page, day by day, and their changes.

import type { Database } from '../../base/database/database.ts'
import { type RawBuilder, sql } from '../../base/database/kysely.ts'
import { type DomainDay, heldColumns, type PlaceMove } from './domains.ts'
import type { ReadSpan } from './span.ts'

/** A page by id. */
export interface PageFacts {
  readonly id: string
  readonly url: string
  /** Without scheme, fragment, tracking parameters and trailing slash, so that all spellings have the same key. */
  readonly key: string
  readonly domain: string | null
}

/** Finds a page by id; null if there is none. */
export async function readPageFacts(db: Database, id: string): Promise<PageFacts | null> {
  const { rows } = await sql<PageFacts>`
    select pages.id, pages.url, pages.url_key as key, (
      select domains.domain
      from domains
      where domains.id = pages.domain_id
    ) as domain
    from pages
    where pages.id = ${id}`.execute(db)
  return rows[0] ?? null
}

/** Position of a page for a query on a day. */
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

/** All spellings of a page. */
function pagesOf(key: string): RawBuilder<unknown> {
  return sql`select id from pages where url_key = ${key}`
}

/** Queries whose answers may show a page: from stored sums, and from days without stored sums. */
function queriesThatShow(
  key: string,
  { since, until }: Pick<ReadSpan, 'since' | 'until'>,
): RawBuilder<unknown> {
  return sql`
    select query_id
    from seen_pages
    where page_id = any (array(${pagesOf(key)}))
    union
    select shown.query_id
    from analysis.unfinished_days
    cross join lateral (
      select observations.query_id
      from analysis.observations
      join organic_results on organic_results.search_id = observations.search_id
      where observations.run_date = unfinished_days.run_date
        and organic_results.page_id = any (array(${pagesOf(key)}))
      offset 0
    ) as shown
    where unfinished_days.run_date between ${since}::date and ${until}::date`
}

/** Reads all positions of a page, in all spellings, newest first. */
export async function readPageDays(
  db: Database,
  { key, since, until }: Pick<ReadSpan, 'since' | 'until'> & { readonly key: string },
): Promise<readonly PageDay[]> {
  const { rows } = await sql<PageDay>`
    select
      shown."runDate", shown."queryId", queries.q, analysis.variant_of(queries.id) as variant, shown.position,
      shown.title, shown.search
    from (
      select
        observations.run_date as "runDate", observations.query_id as "queryId", observations.search_id as search,
        min(organic_results.position) as position,
        (array_agg(organic_results.title order by organic_results.ordinal))[1] as title
      from analysis.observations
      join organic_results on organic_results.search_id = observations.search_id
      where observations.run_date between ${since}::date and ${until}::date
        and observations.query_id = any (array(${queriesThatShow(key, { since, until })}))
        and organic_results.position is not null
        and organic_results.page_id = any (array(${pagesOf(key)}))
      group by observations.run_date, observations.query_id, observations.search_id
      order by observations.run_date desc
      limit ${mostPageDays}::integer
    ) as shown
    join queries on queries.id = shown."queryId"
    order by shown."runDate" desc, shown.position, queries.q, queries.id`.execute(db)
  return rows
}

/** Newest answer in the period for a query asked again after the page ranked for it. */
export interface NewestAnswer {
  readonly queryId: string
  readonly runDate: string
  readonly search: number
  readonly depth: number
  /** Domain at the page's last position. */
  readonly taker: string | null
}

/** Newest answers to some queries, each with the domain at the page's last position. */
export async function readNewestAnswers(
  db: Database,
  places: readonly { readonly queryId: string; readonly position: number }[],
  { since, until }: Pick<ReadSpan, 'since' | 'until'>,
): Promise<readonly NewestAnswer[]> {
  const { rows } = await sql<NewestAnswer>`
    select
      newest.query_id as "queryId", newest.run_date as "runDate", newest.search_id as search, newest.depth, (
        select (array_agg(shown.domain order by shown.ordinal))[1]
        from public.result_domains as shown
        where shown.search_id = newest.search_id
          and shown.position = places.position
      ) as taker
    from unnest(
      ${places.map(({ queryId }) => queryId)}::uuid[], ${places.map(({ position }) => position)}::bigint[]
    ) as places (query_id, position)
    cross join lateral (
      select *
      from analysis.observations
      where observations.query_id = places.query_id
        and observations.run_date between ${since}::date and ${until}::date
      order by observations.run_date desc
      limit 1
    ) as newest`.execute(db)
  return rows
}

/** Reads the sums for a page in all spellings, day by day, counted like those of a domain. */
export async function readPageHoldings(
  db: Database,
  { key, since, until }: Pick<ReadSpan, 'since' | 'until'> & { readonly key: string },
): Promise<readonly DomainDay[]> {
  const { rows } = await sql<DomainDay>`
    with asked as materialized (
      select query_days.run_date, query_days.query_id, query_days.weight, observations.search_id
      from analysis.query_days
      join analysis.observations using (query_id, run_date)
      where query_days.run_date between ${since}::date and ${until}::date
        -- Said of both: the planner does not carry it over, and would read the answers of all days.
        and observations.run_date between ${since}::date and ${until}::date
    ),
    held as (
      select asked.run_date, asked.query_id, asked.weight, min(result_domains.place) >> 20 as position
      from asked
      join public.result_domains on result_domains.search_id = asked.search_id
      where result_domains.place is not null
        and result_domains.page_id = any (array(select id from pages where url_key = ${key}))
      group by asked.run_date, asked.query_id, asked.weight
    ),
    sums as (
      select
        held.run_date, count(*) as ranked,
        count(*) filter (where held.position <= 3) as top_3,
        count(*) filter (where held.position <= 10) as top_10,
        count(*) filter (where held.position <= 20) as top_20,
        coalesce(sum(held.weight * curve.ctr), 0) as clicks
      from held
      left join analysis.ctr as curve on curve.position = held.position
      group by held.run_date
    )
    select ${heldColumns}
    from (
      select run_date, count(*) as queries, sum(weight) as weight
      from asked
      group by run_date
    ) as days
    left join sums as held on held.run_date = days.run_date
    order by days.run_date`.execute(db)
  return rows
}

/** Position change of a page for one query, between the last known answers on two days. */
export interface PageMove extends PlaceMove {
  /** Domain now at the page's previous position; null if unknown, or if the page had none. */
  readonly taker: string | null
}

/** Position changes of a page in all spellings between two days, largest gains and losses first. */
export async function readPageMoves(
  db: Database,
  { key, since, until }: Pick<ReadSpan, 'since' | 'until'> & { readonly key: string },
): Promise<readonly PageMove[]> {
  const { rows } = await sql<PageMove>`
    with moves as materialized (
      select *
      from analysis.page_changes(${since}::date, ${until}::date) as changes
      where changes.page = analysis.page_name(${key}::text)
        and changes.position is distinct from changes.previous_position
      order by abs(changes.clicks_now - changes.clicks_before) desc, changes.q, changes.query_id
      limit 200
    )
    select
      moves.query_id as "queryId", moves.q, analysis.variant_of(moves.query_id) as variant,
      moves.previous_position as previous, moves.position, moves.previous_run_date as "previousDate",
      moves.run_date as "runDate", moves.clicks_now - moves.clicks_before as clicks, (
        select (array_agg(shown.domain order by shown.ordinal))[1]
        from analysis.observations
        join public.result_domains as shown on shown.search_id = observations.search_id
        where observations.query_id = moves.query_id
          and observations.run_date = moves.run_date
          and shown.position = moves.previous_position
      ) as taker
    from moves
    order by abs(moves.clicks_now - moves.clicks_before) desc, moves.q, moves.query_id`.execute(db)
  return rows
}
