import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { readHeldDays, type HeldDay } from './domain-days.ts'
import { readNotes, type Note } from './notes.ts'
import { readGreatest, readRanks, readSuspects, readVariants } from './ranks.ts'
import type { RankPoint, SuspectRun, Variant } from './ranks.ts'
import { listFilter, sliceWords, wantedLabels, type Slice } from './slice.ts'
import { readSpan, type ReadSpan } from './span.ts'
import { readReportSummary, type ReportSummary } from './summary.ts'

/** What the report shows besides the parts of the desk's pages. */
export interface Figures extends Omit<ReportSummary, 'newest'> {
  /** Which queries it is about, in words that must all hold; none: all queries. */
  readonly narrowed: readonly string[]
  /** The days that are shown. */
  readonly span: ReadSpan
  /** Runs of these days that are left out since they cannot be believed. */
  readonly suspect: readonly SuspectRun[]
  readonly domains: readonly { readonly domain: string; readonly label: string }[]
  /** What the chosen and the greatest domains held, day by day. */
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
