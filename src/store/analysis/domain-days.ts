import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import type { ReadSpan } from './span.ts'

/** Whose days are read. */
export interface DomainSpan extends Pick<ReadSpan, 'since' | 'until'> {
  readonly domain: string
}

/** What a domain held on one day. */
export interface DomainDay {
  readonly runDate: string
  readonly queries: number
  readonly ranked: number
  readonly top3: number
  readonly top10: number
  readonly top20: number
  /** Share of voice; null on a day without weights. */
  readonly share: number | null
  /** True: too few answers to stand beside the other days. */
  readonly thin: boolean
}

/** What a domain held, day by day. The numbers of analysis.share_of_voice and position_buckets, of one domain alone. */
export async function readDomainDays(
  db: Database,
  { domain, since, until }: DomainSpan,
): Promise<readonly DomainDay[]> {
  const { rows } = await sql<DomainDay>`
    with asked as materialized (
      select query_days.run_date, query_days.query_id, query_days.weight, observations.search_id
      from analysis.query_days
      join analysis.observations using (query_id, run_date)
      where query_days.run_date between ${since}::date and ${until}::date
    ),
    held as (
      select asked.run_date, asked.query_id, asked.weight, min(result_domains.place) >> 20 as position
      from asked
      join public.result_domains on result_domains.search_id = asked.search_id
      where result_domains.domain = ${domain}
        and result_domains.place is not null
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
    select
      days.run_date as "runDate", days.queries, coalesce(sums.ranked, 0) as ranked, coalesce(sums.top_3, 0) as top3,
      coalesce(sums.top_10, 0) as top10, coalesce(sums.top_20, 0) as top20,
      coalesce(sums.clicks, 0) / nullif(days.weight, 0) as share,
      days.queries * 2 < max(days.queries) over () as thin
    from (
      select run_date, count(*) as queries, sum(weight) as weight
      from asked
      group by run_date
    ) as days
    left join sums using (run_date)
    order by days.run_date`.execute(db)
  return rows
}

/** A domain that there is: of some result, or ours. */
export interface KnownDomain {
  readonly domain: string
  /** What we call it where it is ours, or was. */
  readonly label: string | null
}

/** A domain by its name; null: no answer ever showed it, and it was never ours. */
export async function readKnownDomain(db: Database, domain: string): Promise<KnownDomain | null> {
  const { rows } = await sql<KnownDomain>`
    select named.domain, (
      select label
      from own_domains
      where own_domains.domain = named.domain
      order by since desc nulls last
      limit 1
    ) as label
    from (select ${domain}::text collate "C" as domain) as named
    where exists (select from domains where domains.domain = named.domain)
      or exists (select from own_domains where own_domains.domain = named.domain)`.execute(db)
  return rows[0] ?? null
}
