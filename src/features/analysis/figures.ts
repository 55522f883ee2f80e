// Reads the data of a report.

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

/** Data of the report, in addition to parts of the desk's pages. */
export interface Figures extends Omit<ReportSummary, 'newest'> {
  /** Conditions on the queries, which must all hold; empty: all queries. */
  readonly narrowed: readonly string[]
  /** Days shown. */
  readonly span: ReadSpan
  /** Suspect runs of these days, which are excluded. */
  readonly suspect: readonly SuspectRun[]
  readonly domains: readonly { readonly domain: string; readonly label: string }[]
  /** Sums for the selected and the largest domains, day by day. */
  readonly shares: readonly HeldDay[]
  readonly ranks: readonly RankPoint[]
  readonly variants: readonly Variant[]
  readonly notes: readonly Note[]
}

export interface FigureOptions {
  /** Queries and days that the views are already restricted to. */
  readonly slice: Slice
  /** Empty: own domains, or the largest ones if we have none. */
  readonly domains: readonly string[]
  /** Day that determines which domains are our own. */
  readonly today: string
}

// More points would be too close together to distinguish.
const days = { days: 90, most: 400 } as const
const mostShares = 8
const greatestShown = 6

/** Reads all figures in one snapshot, because numbers on one page must be consistent. */
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

/** Maximum number of domains on the page: the number of line colors. */
export const mostDomains = 8

/** If there are no own domains and none are requested, show this many of the largest. */
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
  // A requested domain keeps its label even after its last day.
  const labels = new Map(rows.map(({ domain, label }) => [domain, label]))
  const ours = rows.filter((row) => row.ours).map(({ domain }) => domain)
  const named = [asked, ours, greatest.slice(0, strangers)].find((names) => names.length > 0) ?? []
  return named
    .slice(0, mostDomains)
    .map((domain) => ({ domain, label: labels.get(domain) ?? domain }))
}

/** Queries and days covered by a report. */
interface ReportSummary {
  readonly origins: readonly string[]
  /** Newest full day. */
  readonly day: string | null
  /** Day it is compared with; null if there is none. */
  readonly previous: string | null
  /** Newest day with planned queries. */
  readonly newest: string | null
  readonly queries: number
  readonly answers: number
  readonly credits: number
}

// For a subset of queries, their own days determine which are full, by the rule of analysis.days.
const slicedDays = sql`(
  select
    run_date,
    queries as answered,
    queries * 2 < max(planned) over (order by run_date range between interval '30 days' preceding and current row) as thin
  from analysis.label_days
  where tag = '*'
)`

/** Reads the summary from views already restricted to the slice. */
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

/** Newest full day of a period; if none is full, the newest with any answer. */
function newestWithin(since: string | null, until: string | null) {
  const within = sql`run_date between coalesce(${since}::date, '-infinity') and coalesce(${until}::date, 'infinity')`
  return sql`coalesce(
    (select max(run_date) from full_days where ${within}),
    (select max(run_date) from told where answered > 0 and ${within})
  )`
}

const lastBefore = sql`(select max(run_date) from full_days where run_date < chosen.day)`

/** First requested day, or the first later one with data to compare. */
function sinceThen(since: string) {
  return sql`coalesce(
    (select ${since}::date where exists (select from full_days where run_date <= ${since}::date)),
    (select min(run_date) from full_days where run_date < chosen.day)
  )`
}

const books = ['accounts', 'calls', 'nights', 'night_health', 'schedules', 'workers']

/**
 * True if the reader may read the internal tables, which analysts' logins may not. Check before reading, because a
 * denied read would abort the transaction and the page with it.
 */
export async function mayReadBooks(trx: Database): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select bool_and(has_table_privilege('public.' || name, 'select')) as may
    from unnest(${books}::text[]) as book (name)
  `.execute(trx)
  return only(rows).may
}
