// What a report says.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'
import { listFilter, type Slice, sliceWords, wantedLabels } from '../../base/database/views.ts'
import { type HeldDay, readHeldDays } from './domains.ts'
import { type Note, readNotes } from './notes.ts'
import {
  type RankPoint,
  readGreatest,
  readRanks,
  readSuspects,
  readVariants,
  type SuspectRun,
  type Variant,
} from './query-facts.ts'
import { type ReadSpan, readSpan } from './span.ts'

/** Data of the report besides the parts of the desk's pages. */
export interface Figures extends Omit<ReportSummary, 'newest'> {
  /** Which queries it is about, in words that must all hold; none: all queries. */
  readonly narrowed: readonly string[]
  /** The days that are shown. */
  readonly span: ReadSpan
  /** Runs of these days that are left out since they cannot be believed. */
  readonly suspect: readonly SuspectRun[]
  readonly domains: readonly { readonly domain: string; readonly label: string }[]
  /** Sums of the chosen and the greatest domains, day by day. */
  readonly shares: readonly HeldDay[]
  readonly ranks: readonly RankPoint[]
  readonly variants: readonly Variant[]
  readonly notes: readonly Note[]
}

export interface FigureOptions {
  /** Which queries and days: the views are narrowed to them already. */
  readonly slice: Slice
  /** Empty: ours, or the greatest ones where we have none. */
  readonly domains: readonly string[]
  /** The day that decides which domains are ours. */
  readonly today: string
}

// More points than that would stand closer than they can be seen.
const days = { days: 90, most: 400 } as const
const mostShares = 8
const greatestShown = 6

/** Reads the figures of the report from one view of the tables: numbers on one page must fit together. */
export async function readFigures(trx: Database, options: FigureOptions): Promise<Figures> {
  const { slice } = options
  const { newest, ...summary } = await readReportSummary(trx, slice)
  const { since, until } = slice
  const asked = { since: since ?? null, until: until ?? newest }
  const span = await readSpan(trx, { ...asked, ...days })
  const greatest = await readGreatest(trx, { day: summary.day, most: greatestShown })
  const domains = await chooseDomains(trx, options, greatest)
  const names = domains.map(({ domain }) => domain)
  const drawn = [...new Set([...names, ...greatest])].slice(0, mostShares)
  const ranks = await readRanks(trx, { domains: names, ...span })
  const isChosen = listFilter(slice)
  const suspect = await readSuspects(trx, span)
  return {
    ...summary,
    narrowed: sliceWords(slice),
    span,
    suspect: suspect.filter(({ list }) => isChosen(list)),
    domains,
    shares: await readHeldDays(trx, { domains: drawn, tag: '*', ...span }),
    ranks,
    variants: await readVariants(
      trx,
      ranks.map(({ q }) => q),
    ),
    notes: await readNotes(trx, wantedLabels(slice)),
  }
}

/** How many domains the page has room for: as many as there are colours of lines. */
export const mostDomains = 8

/** Where nobody is ours and nobody was asked for, so many of the greatest stand for all. */
const strangers = 3

async function chooseDomains(
  trx: Database,
  { domains: asked, today }: FigureOptions,
  greatest: readonly string[],
): Promise<Figures['domains']> {
  const { rows } = await sql<{ domain: string; label: string; ours: boolean }>`
    select distinct on (domain)
      domain, label,
      (since is null or since <= ${today}::date) and (until is null or until >= ${today}::date) as ours
    from own_domains
    order by domain, ours desc, since desc nulls last
  `.execute(trx)
  // A domain that is asked for has its label even after its last day.
  const labels = new Map(rows.map(({ domain, label }) => [domain, label]))
  const ours = rows.filter((row) => row.ours).map(({ domain }) => domain)
  const named = [asked, ours, greatest.slice(0, strangers)].find((names) => names.length > 0) ?? []
  return named
    .slice(0, mostDomains)
    .map((domain) => ({ domain, label: labels.get(domain) ?? domain }))
}

/** The queries and days that a report is about. */
interface ReportSummary {
  readonly origins: readonly string[]
  /** The newest full day. */
  readonly day: string | null
  /** The day that it is compared with; null: there is none. */
  readonly previous: string | null
  /** The newest day that was to be asked. */
  readonly newest: string | null
  readonly queries: number
  readonly answers: number
  readonly credits: number
}

// Of some queries only: their own days decide which are full, by the rule of analysis.days.
const slicedDays = sql`(
  select
    run_date,
    queries as answered,
    queries * 2 < max(planned) over (order by run_date range between interval '30 days' preceding and current row) as thin
  from analysis.label_days
  where tag = '*'
)`

/** Reads it from views that are narrowed to the slice already. */
async function readReportSummary(
  trx: Database,
  { conditions, ...span }: Slice,
): Promise<ReportSummary> {
  const [since, until] = [span.since ?? null, span.until ?? null]
  const sliced = conditions.length > 0
  const told = sliced ? slicedDays : sql`analysis.days`
  const { rows } = await sql<ReportSummary>`
    with told as materialized (
      select run_date, answered, thin
      from ${told} as days
    ),
    full_days as (
      select run_date
      from told
      where answered > 0
        and not thin
    ),
    chosen as materialized (
      select ${sliced || since !== null || until !== null ? newestWithin(since, until) : sql`analysis.newest_day()`} as day
    )
    select
      analysis.origins() as origins,
      chosen.day,
      ${since === null ? lastBefore : sinceThen(since)} as previous,
      ${sliced ? sql`(select max(run_date) from told)` : sql`(select max(run_date) from runs)`} as newest,
      (select count(*) from analysis.latest) as queries,
      kept.answers,
      kept.credits
    from chosen
    cross join (
      select count(*) as answers, coalesce(sum(credits_used), 0) as credits
      from searches
      where origin = any ((select analysis.origins())::text[])
        and case when (select analysis.slice() is not null)
          then (query_id in (select query_id from analysis.query_labels where analysis.holds(labels)))::integer
          else 1
        end <> 0
    ) as kept
  `.execute(trx)
  return only(rows)
}

/** The newest full day of a span; where none is full, the newest with any answer. */
function newestWithin(since: string | null, until: string | null) {
  const within = sql`run_date between coalesce(${since}::date, '-infinity') and coalesce(${until}::date, 'infinity')`
  return sql`coalesce(
    (select max(run_date) from full_days where ${within}),
    (select max(run_date) from told where answered > 0 and ${within})
  )`
}

const lastBefore = sql`(select max(run_date) from full_days where run_date < chosen.day)`

/** The first day that was asked for, or the first one after it with something to compare. */
function sinceThen(since: string) {
  return sql`coalesce(
    (select ${since}::date where exists (select from full_days where run_date <= ${since}::date)),
    (select min(run_date) from full_days where run_date < chosen.day)
  )`
}

const books = ['accounts', 'calls', 'nights', 'night_health', 'schedules', 'workers']

/**
 * True: who reads may read the mill's own bookkeeping, which an analyst's login is kept from. To be asked before reading:
 * a refused read would end the transaction, and the page with it.
 */
export async function mayReadBooks(trx: Database): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select bool_and(has_table_privilege('public.' || name, 'select')) as may
    from unnest(${books}::text[]) as book (name)
  `.execute(trx)
  return only(rows).may
}
