// Reads a report's data.

import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only, readRows } from '../../base/database/sql-file.ts'
import { listFilter, type Slice, sliceWords, wantedLabels } from '../../base/database/views.ts'
import { readHeldDays, readOwnDomains } from './domains.ts'
import { readNotes, readSuspects } from './notes.ts'
import { readSpan } from './span.ts'

/** Data that is shown in reports but not on desk pages. */
export type Figures = Awaited<ReturnType<typeof readFigures>>

export interface FigureOptions {
  /** Queries and days to which the views are already restricted. */
  readonly slice: Slice
  /** Requested domains. If empty, the report shows our own domains or, if there are none, the largest domains. */
  readonly domains: readonly string[]
  /** Domains that are ours on this day are shown as ours. */
  readonly today: string
}

// Default and maximum numbers of days in a chart. A chart with more days would be unreadable.
const days = { days: 90, most: 400 } as const
const mostShares = 8
const greatestShown = 6

/** Reads all figures in one snapshot, because the numbers in a report must agree. */
export async function readFigures(trx: Database, options: FigureOptions) {
  const { slice } = options
  const { since = null, until = null, conditions } = slice
  const parameters = { since, until, sliced: conditions.length > 0 }
  const { newest, ...summary } = only(
    await readRows<ReportSummary>(trx, 'read_report_summary', parameters),
  )
  const span = await readSpan(trx, { since, until: until ?? newest, ...days })
  const parametersOfDay = { day: summary.day, most: greatestShown }
  const largest = await readRows<{ domain: string }>(trx, 'read_greatest_domains', parametersOfDay)
  const greatest = largest.map(({ domain }) => domain)
  const domains = await chooseDomains(trx, options, greatest)
  const names = domains.map(({ domain }) => domain)
  // Daily sums are shown for the selected domains and the largest domains.
  const drawn = [...new Set([...names, ...greatest])].slice(0, mostShares)
  const within = { domains: names, since: span.since, until: span.until }
  const ranks = await readRows<RankPoint>(trx, 'read_ranks', within)
  const texts = [...new Set(ranks.map(({ q }) => q))]
  const isChosen = listFilter(slice)
  const suspect = await readSuspects(trx, span)
  return {
    ...summary,
    /** Conditions that every query must meet. If empty, the report covers all queries. */
    narrowed: sliceWords(slice),
    span,
    /** Suspect runs in the span; their answers are excluded. */
    suspect: suspect.filter(({ list }) => isChosen(list)),
    domains,
    shares: await readHeldDays(trx, { domains: drawn, ...span }),
    ranks,
    variants: await readVariants(trx, texts),
    notes: await readNotes(trx, wantedLabels(slice)),
  }
}

/** Maximum number of domains on the page, which is the number of line colors. */
export const mostDomains = 8

/** Number of domains to show, largest first, if no domain is ours or requested. */
const strangers = 3

async function chooseDomains(
  trx: Database,
  { domains: asked, today }: FigureOptions,
  greatest: readonly string[],
) {
  const own = (await readOwnDomains(trx)).filter(({ rival }) => !rival)
  const current = own.filter(({ since, until }) => {
    return (since === null || since <= today) && (until === null || until >= today)
  })
  // A requested domain is labelled even if its last day has passed.
  const labels = new Map([...own, ...current].map(({ domain, label }) => [domain, label]))
  const ours = [...new Set(current.map(({ domain }) => domain))]
  const named = [asked, ours, greatest.slice(0, strangers)].find((names) => names.length > 0) ?? []
  return named
    .slice(0, mostDomains)
    .map((domain) => ({ domain, label: labels.get(domain) ?? domain }))
}

/** A domain's position for one of the queries with the highest weights. */
export interface RankPoint {
  readonly domain: string
  readonly queryId: string
  readonly q: string
  readonly runDate: string
  /** Null if the answer does not contain the domain. */
  readonly position: number | null
  readonly depth: number
}

interface ReportSummary {
  readonly origins: readonly string[]
  readonly day: string | null
  /** Day to compare with the newest full day, or null. */
  readonly previous: string | null
  /** Newest day for which queries were planned. */
  readonly newest: string | null
  readonly queries: number
  readonly answers: number
  readonly credits: number
}

/** A query, with all parameters that distinguish it from other queries with the same text. */
export type Variant = Awaited<ReturnType<typeof readVariants>>[number]

/** Reads all queries with the given texts, for any device or place. */
export function readVariants(trx: Database, texts: readonly string[]) {
  return trx
    .selectFrom('queries')
    .select(['id as queryId', 'q', 'device', 'location', 'hl', 'gl', 'num'])
    .where((eb) => eb('q', '=', eb.fn.any(eb.val(texts))))
    .execute()
}

const books = ['accounts', 'calls', 'nights', 'night_health', 'schedules', 'workers']

/** True if the reader, unlike an analyst, may read internal tables. A denied read would abort the transaction. */
export async function mayReadBooks(trx: Database): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select bool_and(has_table_privilege('public.' || name, 'select')) as may
    from unnest(${books}::text[]) as name`.execute(trx)
  return only(rows).may
}
