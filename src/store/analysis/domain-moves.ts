import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { DomainSpan } from './domain-days.ts'

/** A move for one query, between the last known answers on two days. */
export interface PlaceMove {
  readonly queryId: string
  readonly q: string
  readonly variant: string
  readonly previous: number | null
  readonly position: number | null
  readonly previousDate: string
  readonly runDate: string
  /** Clicks won or lost, by weight. */
  readonly clicks: number
}

/** Moves of a domain between two days, those that won or lost most first. */
export async function readDomainMoves(
  db: Database,
  { domain, since, until }: DomainSpan,
): Promise<readonly PlaceMove[]> {
  const { rows } = await sql<PlaceMove>`
    select
      moves.query_id as "queryId", moves.q, analysis.variant_of(moves.query_id) as variant,
      moves.previous_position as previous, moves.position, moves.previous_run_date as "previousDate",
      moves.run_date as "runDate",
      coalesce(weights.weight, 1) * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0)) as clicks
    from analysis.movers_between(${since}::date, ${until}::date) as moves
    left join analysis.latest_weights as weights on weights.query_id = moves.query_id
    left join analysis.ctr as now on now.position = moves.position
    left join analysis.ctr as before on before.position = moves.previous_position
    where moves.domain = ${domain}
      and moves.change <> 'same'
    order by abs(coalesce(weights.weight, 1) * (coalesce(now.ctr, 0) - coalesce(before.ctr, 0))) desc, moves.places desc,
      moves.q, moves.query_id
    limit 200`.execute(db)
  return rows
}

/** What another domain took from one, or lost to it, between two days. */
export interface DomainFlow {
  readonly domain: string | null
  readonly taken: number
  readonly won: number
  readonly queries: number
}

/** Who took the clicks that a domain lost, and from whom it won: the greatest first. */
export async function readDomainFlows(
  db: Database,
  { domain, since, until }: DomainSpan,
): Promise<readonly DomainFlow[]> {
  const { rows } = await sql<DomainFlow>`
    select
      case when flows.loser = ${domain} then flows.taker else flows.loser end as domain,
      coalesce(sum(flows.clicks) filter (where flows.loser = ${domain}), 0) as taken,
      coalesce(sum(flows.clicks) filter (where flows.taker = ${domain}), 0) as won,
      count(distinct flows.query_id) as queries
    from analysis.flows_between(${since}::date, ${until}::date) as flows
    where flows.loser = ${domain}
      or flows.taker = ${domain}
    group by 1
    order by sum(flows.clicks) desc, 1
    limit 15`.execute(db)
  return rows
}

/** A page of a domain in the last known answers on a day. */
export interface DomainPage {
  readonly page: string | null
  readonly pageKey: string
  readonly queries: number
  readonly best: number
  readonly example: string
  readonly exampleId: string
}

/** Pages of a domain in the last known answers on a day, those of most queries first. */
export async function readDomainPages(
  db: Database,
  { domain, until }: Pick<DomainSpan, 'domain' | 'until'>,
): Promise<readonly DomainPage[]> {
  const { rows } = await sql<DomainPage>`
    select
      (array_agg(shown.page_id order by shown.position))[1] as page, shown.url_key as "pageKey",
      count(distinct known.query_id) as queries, min(shown.position) as best,
      (array_agg(queries.q order by shown.position, queries.q))[1] as example,
      (array_agg(queries.id order by shown.position, queries.q))[1] as "exampleId"
    from analysis.known_on(${until}::date) as known
    join public.result_domains as shown on shown.search_id = known.search_id
    join queries on queries.id = known.query_id
    where shown.domain = ${domain}
      and shown.position is not null
      and shown.url_key is not null
    group by shown.url_key
    order by count(distinct known.query_id) desc, min(shown.position), shown.url_key
    limit 25`.execute(db)
  return rows
}

/** A domain that stands in the same answers. */
export interface Rival {
  readonly domain: string
  readonly shared: number
  /** For how many of these it stands higher. */
  readonly ahead: number
  readonly best: number
}

/** Domains in the last known answers on a day that show a domain, those of most answers first. */
export async function readRivals(
  db: Database,
  { domain, until }: Pick<DomainSpan, 'domain' | 'until'>,
): Promise<readonly Rival[]> {
  const { rows } = await sql<Rival>`
    with mine as materialized (
      select known.search_id, min(shown.position) as position
      from analysis.known_on(${until}::date) as known
      join public.result_domains as shown on shown.search_id = known.search_id
      where shown.domain = ${domain}
        and shown.position is not null
      group by known.search_id
    )
    select
      domain, count(*) as shared, count(*) filter (where theirs < mine) as ahead, min(theirs) as best
    from (
      select shown.domain, mine.search_id, mine.position as mine, min(shown.position) as theirs
      from mine
      join public.result_domains as shown on shown.search_id = mine.search_id
      where shown.position is not null
        and shown.domain is not null
        and shown.domain <> ${domain}
      group by shown.domain, mine.search_id, mine.position
    ) as rivals
    group by domain
    order by count(*) desc, count(*) filter (where theirs < mine) desc, domain
    limit 15`.execute(db)
  return rows
}
