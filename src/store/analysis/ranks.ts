import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

export interface SharePoint {
  readonly domain: string
  readonly runDate: string
  readonly share: number
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

/** A query with all that tells it from others of the same text. */
export interface Variant {
  readonly queryId: string
  readonly q: string
  readonly device: string | null
  readonly location: string | null
  readonly hl: string | null
  readonly gl: string | null
  readonly num: number
}

export interface Move {
  readonly q: string
  /** What the query asks for besides its text; empty for nothing. */
  readonly variant: string
  readonly domain: string
  readonly previous: number | null
  readonly position: number | null
  readonly change: string
  readonly page: string | null
  readonly url: string | null
  readonly title: string | null
}

const nights = 90

/** A run whose answers are in no line. */
export interface SuspectRun {
  readonly runDate: string
  readonly list: string
  readonly reasons: readonly string[]
}

/** The newest runs that are suspect. */
export async function readSuspects(trx: Database): Promise<readonly SuspectRun[]> {
  const { rows } = await sql<SuspectRun>`
    select run_date as "runDate", list, reasons
    from analysis.night_health
    where suspect
    order by run_date desc, run_id desc
    limit 30`.execute(trx)
  return rows
}

/** Days that hold too few answers to be compared with those around them. */
export async function readThinDays(trx: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ day: string }>`
    select run_date as day
    from analysis.days
    where thin
      and run_date > (select max(run_date) from runs) - ${nights}::integer
    order by run_date
  `.execute(trx)
  return rows.map(({ day }) => day)
}

/** Shares of voice of all domains, full day by full day. */
export async function readShares(trx: Database, tag: string): Promise<readonly SharePoint[]> {
  const { rows } = await sql<SharePoint>`
    select domain, run_date as "runDate", share_of_voice as share
    from analysis.share_of_voice
    where tag = ${tag}
      and run_date not in (select run_date from analysis.days where thin)
      and run_date > (select max(run_date) from runs) - ${nights}::integer
      and share_of_voice is not null
    order by run_date, share_of_voice desc
  `.execute(trx)
  return rows
}

/** The greatest domains of the last night, and the chosen ones, on every day: one that has no row had no share. */
export function leading(
  shares: readonly SharePoint[],
  chosen: readonly string[],
): readonly SharePoint[] {
  const last = shares.at(-1)?.runDate
  const greatest = shares.filter(({ runDate }) => runDate === last).slice(0, 6)
  const shown = new Set([...chosen, ...greatest.map(({ domain }) => domain)].slice(0, 8))
  const days = new Map<string, Map<string, number>>()
  for (const { domain, runDate, share } of shares) {
    const day = days.get(runDate)
    if (day === undefined) days.set(runDate, new Map([[domain, share]]))
    else day.set(domain, share)
  }
  return [...days].flatMap(([runDate, day]) =>
    [...shown].map((domain) => ({ domain, runDate, share: day.get(domain) ?? 0 })),
  )
}

/** Places of some domains for their heaviest queries, day by day. */
export async function readRanks(
  trx: Database,
  domains: readonly string[],
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
          and run_date > (select max(run_date) from runs) - ${nights}::integer
      ) as history
      where position_count > 0
    ) as ordered
    where place <= 9
    order by domain, place, run_date
  `.execute(trx)
  return rows
}

/** All queries of some texts, those that were asked with another device or for another place among them. */
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

/** The greatest moves of some domains on one day. */
export async function readMoves(
  trx: Database,
  domains: readonly string[],
  day: string | null,
): Promise<readonly Move[]> {
  const { rows } = await sql<Move>`
    select
      movers.q, analysis.variant_of(movers.query_id) as variant, movers.domain, movers.previous_position as previous, movers.position, movers.change,
      coalesce(movers.url_key, movers.previous_url_key) as page,
      shown.url, shown.title
    from analysis.movers_on(${day}::date) as movers
    left join lateral (
      select pages.url, result_domains.title
      from public.result_domains
      join pages on pages.id = result_domains.page_id
      where result_domains.search_id = coalesce(
          case when movers.position is not null then movers.search_id end, movers.previous_search_id
        )
        and result_domains.domain = movers.domain
        and result_domains.position = coalesce(movers.position, movers.previous_position)
      limit 1
    ) as shown on true
    where movers.domain = any (${domains}::text[])
      and movers.change <> 'same'
    order by movers.places desc, movers.q, variant
    limit 25
  `.execute(trx)
  return rows
}
