import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { ReadSpan } from './span.ts'

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

/** A run whose answers are in no line. */
export interface SuspectRun {
  readonly runDate: string
  readonly list: string
  readonly reasons: readonly string[]
}

/** The newest runs of some days that are suspect. */
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

/** The domains with the greatest shares of voice on a day; null: there is no day. */
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

/** Places of some domains for their heaviest queries, day by day. */
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
