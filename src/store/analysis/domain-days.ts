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

/** What a day says of whatever was held on it: columns over `days` and `held`. */
export const heldColumns = sql`
  days.run_date as "runDate", days.queries, coalesce(held.ranked, 0) as ranked, coalesce(held.top_3, 0) as top3,
  coalesce(held.top_10, 0) as top10, coalesce(held.top_20, 0) as top20,
  coalesce(held.clicks, 0) / nullif(days.weight, 0) as share,
  days.queries * 2 < max(days.queries) over () as thin`

/** What a domain held, day by day, over all queries. */
export function readDomainDays(
  db: Database,
  { domain, ...span }: DomainSpan,
): Promise<readonly DomainDay[]> {
  return readHeldDays(db, { domains: [domain], tag: '*', ...span })
}

/** What one of several domains held on one day. */
export interface HeldDay extends DomainDay {
  readonly domain: string
}

/** Whose days are read, over queries with which label; `*`: over all. */
export interface ShareSpan extends Pick<ReadSpan, 'since' | 'until'> {
  readonly domains: readonly string[]
  readonly tag: string
}

/**
 * What some domains held, day by day, one after the other. The numbers of analysis.share_of_voice and position_buckets,
 * of these domains alone; one that has no row on a day held nothing.
 */
export async function readHeldDays(
  db: Database,
  { domains, tag, since, until }: ShareSpan,
): Promise<readonly HeldDay[]> {
  const { rows } = await sql<HeldDay>`
    select shown.domain, ${heldColumns}
    from analysis.label_days as days
    cross join unnest(${domains}::text[]) with ordinality as shown (domain, place)
    left join (
      select *
      from analysis.label_shares
      where tag = ${tag}
        and domain = any (${domains}::text[])
        and run_date between ${since}::date and ${until}::date
    ) as held on held.run_date = days.run_date
      and held.domain = shown.domain
    where days.tag = ${tag}
      and days.queries > 0
      and days.run_date between ${since}::date and ${until}::date
    order by shown.place, days.run_date`.execute(db)
  return rows
}

/** A domain that there is: of some result, ours, or a rival's. */
export interface KnownDomain {
  readonly domain: string
  /** What we call it where it is ours, or was. */
  readonly label: string | null
}

/** A domain by its name, or a site of our lines or of rivals'; null: no answer ever showed it, and no line names it. */
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
      or exists (select from own_domains where own_domains.domain = named.domain)
      or exists (select from rival_domains where rival_domains.domain = named.domain)`.execute(db)
  return rows[0] ?? null
}
