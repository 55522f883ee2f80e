// Own and rival domains, and changes of that list.

import type { Database } from '../../base/database/database.ts'
import { type RawBuilder, sql, type Transaction } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import type { ReadSpan } from './span.ts'

/** A domain of ours or of a rival, with its label and period; empty dates are null. */
export interface OwnDomain {
  readonly domain: string
  readonly label: string
  /** Null if the label is the brand. */
  readonly brand: string | null
  readonly since: string | null
  readonly until: string | null
  readonly rival: boolean
}

/** Optional columns present in a file of domains. */
export interface FileColumns {
  readonly brands: boolean
  readonly rivals: boolean
}

/** Table for a line. */
function tableOf({ rival }: Pick<OwnDomain, 'rival'>): RawBuilder<unknown> {
  return sql.table(rival ? 'rival_domains' : 'own_domains')
}

interface Loading extends FileColumns {
  readonly lines: readonly OwnDomain[]
  readonly today: string
}

/**
 * Updates the tables of own and rival domains to match these lines, without rewriting the past: a changed or removed
 * line ends yesterday, and its successor starts today. Dates given in a line are used as they are.
 */
export async function loadDomains(trx: Transaction<DB>, loading: Loading): Promise<void> {
  await loadTable(trx, loading, false)
  if (loading.rivals) await loadTable(trx, loading, true)
}

async function loadTable(
  trx: Transaction<DB>,
  { lines, today, brands }: Loading,
  rival: boolean,
): Promise<void> {
  const own = lines.filter((line) => line.rival === rival)
  const table = tableOf({ rival })
  const given = sql`(
    select domain, label, brand, since, until
    from jsonb_to_recordset(${JSON.stringify(own)}::jsonb)
      as lines (domain text, label text, brand text, since date, until date)
  ) as given`
  // A line without a start date refers to the current row, or to the one that ended on the given day.
  const same = sql`given.domain = there.domain
    and given.label = there.label
    and (not ${brands}::boolean or given.brand is not distinct from there.brand)
    and case
      when given.since is not null then given.since = there.since
      else there.until is null or there.until >= ${today}::date or there.until = given.until
    end`
  await endMissing(trx, { table, given, same, today })
  await sql`
    update ${table} as there
    set until = given.until
    from ${given}
    where ${same}
      and there.until is distinct from given.until`.execute(trx)
  await sql`
    insert into ${table} (domain, label, brand, since, until)
    select
      given.domain, given.label, given.brand,
      -- What was never there before is there from the beginning: a new domain has its whole history.
      coalesce(given.since, case
        when exists (select from ${table} as there where there.domain = given.domain) then ${today}::date
      end),
      given.until
    from ${given}
    where not exists (select from ${table} as there where ${same})
    on conflict (domain, since) do update
    set label = excluded.label,
      brand = excluded.brand,
      until = excluded.until`.execute(trx)
}

interface Ending {
  readonly table: RawBuilder<unknown>
  readonly given: RawBuilder<unknown>
  readonly same: RawBuilder<unknown>
  readonly today: string
}

async function endMissing(trx: Transaction<DB>, { table, given, same, today }: Ending) {
  // A row that started today can't end yesterday, so delete it.
  await sql`
    delete from ${table} as there
    where there.since >= ${today}::date
      and not exists (select from ${given} where ${same})`.execute(trx)
  await sql`
    update ${table} as there
    set until = ${today}::date - 1
    where (there.until is null or there.until >= ${today}::date)
      and not exists (select from ${given} where ${same})`.execute(trx)
}

/** Our own domains on a day. */
export async function readOursOn(db: Database, date: string): Promise<readonly string[]> {
  const { rows } = await sql<{ domain: string }>`
    select distinct domain
    from analysis.ours_on(${date}::date)
    order by domain`.execute(db)
  return rows.map(({ domain }) => domain)
}

/** A line removed or added by a command. */
interface DomainChange extends OwnDomain {
  readonly change: 'removed' | 'added'
}

/** Own domains, then rival domains, oldest line first. */
export async function readOwnDomains(db: Database): Promise<readonly OwnDomain[]> {
  const { rows } = await sql<OwnDomain>`
    select domain, label, brand, since, until, rival
    from (
      select *, false as rival from own_domains
      union all
      select *, true from rival_domains
    ) as told
    order by rival, domain, since nulls first
  `.execute(db)
  return rows
}

/** Changes the domain tables under a lock, and records and returns what changed. */
export async function changeDomains(
  db: Database,
  command: string,
  work: (trx: Transaction<DB>) => Promise<unknown>,
): Promise<readonly DomainChange[]> {
  return db.transaction().execute(async (trx) => {
    await sql`lock table own_domains, rival_domains in share row exclusive mode`.execute(trx)
    const before = await readOwnDomains(trx)
    await work(trx)
    const after = await readOwnDomains(trx)
    const changes = [
      ...missing(before, after).map((line) => ({ change: 'removed' as const, ...line })),
      ...missing(after, before).map((line) => ({ change: 'added' as const, ...line })),
    ]
    await sql`
      insert into own_domain_changes (command, change, domain, label, brand, since, until, rival)
      select ${command}, change, domain, label, brand, since, until, rival
      from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb)
        as lines (change text, domain text, label text, brand text, since date, until date, rival boolean)
    `.execute(trx)
    return changes
  })
}

function missing(from: readonly OwnDomain[], among: readonly OwnDomain[]): readonly OwnDomain[] {
  const there = new Set(among.map((line) => JSON.stringify(line)))
  return from.filter((line) => !there.has(JSON.stringify(line)))
}

/** Adds an own or rival domain with its label and period; replaces a line with the same start date. */
export async function putDomain(trx: Transaction<DB>, line: OwnDomain): Promise<void> {
  await sql`
    insert into ${tableOf(line)} (domain, label, brand, since, until)
    values (${line.domain}, ${line.label}, ${line.brand}, ${line.since}, ${line.until})
    on conflict (domain, since) do update
    set label = excluded.label,
      brand = excluded.brand,
      until = excluded.until
  `.execute(trx)
}

const tables = [{ rival: false }, { rival: true }] as const

/** Ends all lines of a domain on a day; deletes lines that start later. */
export async function endDomain(
  trx: Transaction<DB>,
  { domain, on }: { readonly domain: string; readonly on: string },
): Promise<void> {
  for (const kind of tables) {
    const table = tableOf(kind)
    await sql`delete from ${table} where domain = ${domain} and since > ${on}::date`.execute(trx)
    await sql`
      update ${table}
      set until = ${on}::date
      where domain = ${domain}
        and (until is null or until > ${on}::date)
    `.execute(trx)
  }
}

/** Undoes the last command; called again, it redoes it. */
export async function undoDomains(trx: Transaction<DB>): Promise<void> {
  const last = sql`
    select *
    from own_domain_changes
    where changed_at = (select max(changed_at) from own_domain_changes)`
  for (const kind of tables) {
    const table = tableOf(kind)
    await sql`
      delete from ${table} as there
      using (${last}) as last
      where last.change = 'added'
        and last.rival = ${kind.rival}
        and last.domain = there.domain
        and last.since is not distinct from there.since
    `.execute(trx)
    await sql`
      insert into ${table} (domain, label, brand, since, until)
      select domain, label, brand, since, until
      from (${last}) as last
      where change = 'removed'
        and rival = ${kind.rival}
    `.execute(trx)
  }
}

/** Domain and days to read. */
interface DomainSpan extends Pick<ReadSpan, 'since' | 'until'> {
  readonly domain: string
}

/** Sums for a domain on one day. */
export interface DomainDay {
  readonly runDate: string
  readonly queries: number
  readonly ranked: number
  readonly top3: number
  readonly top10: number
  readonly top20: number
  /** Share of voice; null on a day without weights. */
  readonly share: number | null
  /** True if there are too few answers for a comparison with other days. */
  readonly thin: boolean
}

/** Columns over `days` and `held`: sums for a domain or page on a day. */
export const heldColumns = sql`
  days.run_date as "runDate", days.queries, coalesce(held.ranked, 0) as ranked, coalesce(held.top_3, 0) as top3,
  coalesce(held.top_10, 0) as top10, coalesce(held.top_20, 0) as top20,
  coalesce(held.clicks, 0) / nullif(days.weight, 0) as share,
  days.queries * 2 < max(days.queries) over () as thin`

/** Reads the sums for a domain, day by day, over all queries. */
export function readDomainDays(
  db: Database,
  { domain, ...span }: DomainSpan,
): Promise<readonly DomainDay[]> {
  return readHeldDays(db, { domains: [domain], tag: '*', ...span })
}

/** Sums for one of several domains on one day. */
export interface HeldDay extends DomainDay {
  readonly domain: string
}

/** Domains and days to read, and the label of the queries; `*` for all. */
interface ShareSpan extends Pick<ReadSpan, 'since' | 'until'> {
  readonly domains: readonly string[]
  readonly tag: string
}

/**
 * Reads the sums for some domains, day by day. Same numbers as analysis.share_of_voice and position_buckets, but only
 * for these domains; a domain without a row had no results that day.
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

/** A known domain: from a result, or an own or rival domain. */
export interface KnownDomain {
  readonly domain: string
  /** Our label if it is or was our own. */
  readonly label: string | null
}

/** Finds a domain by name, or an own or rival site; null if it is in no answer and no domain line. */
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

/** Changes of a domain between two days. */
export interface DomainRow {
  readonly domain: string
  readonly ours: boolean
  /** Share of the clicks of all queries with a known answer, on the later and the earlier day. */
  readonly share: number
  readonly previousShare: number
  readonly ranked: number
  readonly top3: number
}

/** Domains by their share in the last known answers on a day, compared with an earlier day; own domains first. */
export async function readDomainTable(
  db: Database,
  { since, until }: Pick<ReadSpan, 'since' | 'until'>,
  word: string | null,
): Promise<readonly DomainRow[]> {
  const { rows } = await sql<DomainRow>`
    with sides as materialized (
      select day.now, known.query_id, known.search_id, coalesce(weights.weight, 1) as weight
      from (values (true, ${until}::date), (false, ${since}::date)) as day (now, day)
      cross join lateral analysis.known_on(day.day) as known
      left join analysis.latest_weights as weights on weights.query_id = known.query_id
    ),
    totals as (
      select sum(weight) filter (where now) as weight, sum(weight) filter (where not now) as previous
      from sides
    ),
    best as (
      select sides.now, sides.search_id, sides.weight, shown.domain, min(shown.place) >> 20 as position
      from sides
      join public.result_domains as shown on shown.search_id = sides.search_id
      where shown.place is not null
        and shown.domain is not null
        and (${word}::text is null or strpos(shown.domain, lower(${word}::text)) > 0)
      group by sides.now, sides.query_id, sides.search_id, sides.weight, shown.domain
    ),
    summed as (
      select
        best.domain,
        coalesce(sum(best.weight * curve.ctr) filter (where best.now), 0) as clicks,
        coalesce(sum(best.weight * curve.ctr) filter (where not best.now), 0) as previous,
        count(*) filter (where best.now) as ranked,
        count(*) filter (where best.now and best.position <= 3) as top_3
      from best
      left join analysis.ctr as curve on curve.position = best.position
      group by best.domain
    )
    select
      summed.domain, exists (
        select
        from analysis.ours_on(${until}::date) as ours
        where ours.domain = summed.domain
      ) as ours, coalesce(summed.clicks / nullif(totals.weight, 0), 0) as share,
      coalesce(summed.previous / nullif(totals.previous, 0), 0) as "previousShare", summed.ranked, summed.top_3 as top3
    from summed
    cross join totals
    order by ours desc, share desc, summed.domain
    limit 100`.execute(db)
  return rows
}

/** Position change for one query between the last known answers on two days. */
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

/** Position changes of a domain between two days, largest gains and losses first. */
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

/** Clicks that another domain won from a domain, or lost to it, between two days. */
export interface DomainFlow {
  readonly domain: string | null
  readonly taken: number
  readonly won: number
  readonly queries: number
}

/** Reads which domains won a domain's lost clicks, and from which it won clicks; largest first. */
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

/** Pages of a domain in the last known answers on a day, those for most queries first. */
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

/** A domain in the same answers. */
export interface Rival {
  readonly domain: string
  readonly shared: number
  /** Number of these answers in which it ranks higher. */
  readonly ahead: number
  readonly best: number
}

/** Domains in the last known answers that show a given domain, most frequent first. */
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
