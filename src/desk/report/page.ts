// Reads the report data, and draws it as a single page that needs no server.

import { hash } from 'node:crypto'
import type { Config } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only, readRows } from '../../base/database/sql-file.ts'
import { listFilter, type Slice, sliceWords, wantedLabels } from '../../base/database/views.ts'
import { groupBy } from '../../base/query.ts'
import { readCalendar } from '../../core/nights/nights.ts'
import { readHeldDays, readOwnDomains } from '../../features/analysis/domains.ts'
import { readNotes, readSuspects } from '../../features/analysis/notes.ts'
import { readSpan } from '../../features/analysis/span.ts'
import { readAssets } from '../assets.ts'
import { Html, html } from '../drawing/html.ts'
import { dayLine, drawSmall, noteList } from '../drawing/lines.ts'
import { given, nothing, section, tiles } from '../drawing/parts.ts'
import { drawView, notLive } from '../layout.ts'
import type { PagePlace, View } from '../page.ts'
import {
  type DomainFound,
  drawDomain,
  drawShares,
  readDomain,
  suspectBands,
} from '../pages/domain.ts'
import { type CoverageFound, drawCoverage, readListDays, readListFacts } from '../pages/lists.ts'
import { drawBalances, drawCosts, readAccountsFound, readRises } from '../pages/money.ts'
import { drawCalendar, mostEntries } from '../pages/nights.ts'
import { nameVariants, readVariants } from '../pages/ways.ts'

/** Renders the page as one file. A policy in the page's head forbids scripts and external resources. */
export function renderPage(found: ReportFound, made: Date): string {
  const style = readAssets().style.text
  const styleHash = hash('sha256', style, 'base64')
  const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`
  const place = stillPlace(found)
  // The style must match the hash in the policy exactly, so no whitespace may be added.
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${new Html(policy)}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <meta name="color-scheme" content="light dark" />
        <title>querymill: ${found.figures.day ?? 'nothing yet'}</title>
        ${new Html(`<style>${style}</style>`)}
      </head>
      <body>
        <main>${notLive(place)}${drawView(viewOf(found, made, place))}</main>
        <footer class="foot">
          <p>
            A position is a domain's best position in an answer. A gap in a line marks a day on
            which the domain was not in the results. All times are in ${place.zone}.
          </p>
        </footer>
      </body>
    </html> `.text
}

function viewOf(found: ReportFound, made: Date, place: PagePlace): View {
  const { figures, held, lists, books } = found
  const { span, day, narrowed } = figures
  const none = `No readable answers ${narrowed.length === 0 ? 'yet' : 'to these queries'}.`
  const newest = day === null ? none : `Newest run date: ${day}.`
  return {
    title: 'What the answers say',
    lead: html`${newest} Created ${made.toISOString().slice(0, 16).replace('T', ' ')} UTC; covers
    ${span.since} to ${span.until}${span.cut ? ' (the maximum for one page)' : ''}.`,
    body: html`${narrowedTo(figures)} ${summary(found)} ${noteList(figures.notes)}
    ${figures.shares.length === 0 ? null : drawShares(figures, trendOf(figures), place)}
    ${held.map((one, index) => domainPart({ figures, held: one }, `domain-${index + 1}`, place))}
    ${books === null ? null : titled('Nights', drawCalendar(books.nights, place))}
    ${lists.map((list) => drawCoverage(list, insidePlace(place, `list-${list.list.id}`)))}
    ${books === null ? null : titled('Money', html`${drawBalances(books.money, place, span)} ${drawCosts(books.money)}`)}`,
  }
}

function titled(title: string, body: Html): Html {
  return html`<h2 class="part">${title}</h2>
    ${body}`
}

function narrowedTo({ narrowed }: Figures): Html | null {
  if (narrowed.length === 0) return null
  return html`<p class="banner">
    <strong>Limited to some queries:</strong>
    ${narrowed.map((one, index) => html`${index === 0 ? null : '; '}${given(one)}`)}. Coverage,
    nights and money cover whole runs.
  </p>`
}

function summary({ figures, lists }: ReportFound): Html {
  const failures = lists.flatMap(({ days }) => days.map((day) => day.failed + day.unknown))
  return tiles([
    ['queries answered', figures.queries],
    ['answers stored in total', figures.answers],
    ['credits used for them', figures.credits],
    ['failed or unknown tasks in this period', failures.reduce((sum, some) => sum + some, 0)],
  ])
}

const trendOf = ({ narrowed }: Figures) => ({
  picture: 'Share of voice of the largest and the chosen domains, day by day',
  about: html`Estimated share of clicks, based on each domain's best positions and the weights of
  ${narrowed.length === 0 ? 'all' : 'these'} queries.`,
})

function domainPart(
  { figures, held }: Pick<ReportFound, 'figures'> & { readonly held: DomainFound },
  id: string,
  around: PagePlace,
): Html {
  const { domain } = held.known
  const label = held.known.label ?? domain
  const place = insidePlace(around, id)
  const body =
    figures.day === null
      ? nothing("The domain's share, positions and moves will be shown here.")
      : drawDomain(held, place, drawRanks(figures, { domain, label }, place))
  return html`<h2 class="part" id="${id}" dir="auto">
      ${label} ${label === domain ? null : html`<small>${domain}</small>`}
    </h2>
    ${body}`
}

/** Page context for a report file. Links lead only to targets in the same file. */
function stillPlace({ figures, zone }: ReportFound): PagePlace {
  const anchors = figures.domains.map(({ domain }) => `/domains/${encodeURIComponent(domain)}`)
  return {
    path: '',
    filters: new URLSearchParams(),
    zone,
    today: figures.day ?? figures.span.until,
    origins: figures.origins.join(','),
    suspects: false,
    href: (path) => (anchors.includes(path) ? `#domain-${anchors.indexOf(path) + 1}` : null),
    id: (name) => name,
    still: true,
  }
}

function insidePlace(place: PagePlace, name: string): PagePlace {
  return { ...place, id: (part) => `${name}-${part}` }
}

function drawRanks(
  figures: Figures,
  { domain, label }: { domain: string; label: string },
  place: PagePlace,
): Html {
  const names = nameVariants(figures.variants)
  // Queries are distinguished by id, because several queries can have the same text.
  const own = figures.ranks.filter((row) => row.domain === domain)
  const lines = [...groupBy(own, ({ queryId }) => queryId)].map(([id, rows]) =>
    dayLine(names.get(id) ?? id, rows, ({ position }) => position),
  )
  const ranks = lines.flatMap(({ points }) => points.map(({ value }) => value ?? 0))
  const deepest = Math.max(10, ...ranks)
  const chart = {
    ...{ width: 330, height: 130, format: String },
    range: [deepest + 0.5, 0.5] as const,
    ticks: [1, ...[3, 10, 20, 50, 100].filter((tick) => tick <= deepest)],
    notes: figures.notes,
    bands: suspectBands(figures.suspect, place),
  }
  const seen =
    lines.length === 0
      ? 'The domain does not appear in any answer in this period.'
      : "The domain's queries with the highest weights; position 1 is at the top."
  const about = label === domain ? seen : `${domain}. ${seen}`
  return section(
    { id: place.id('ranks'), title: `Rank history of ${label}`, about },
    html`<div class="smalls">
      ${lines.map((line) => {
        const now = line.points.at(-1)?.value ?? null
        const words = now === null ? 'not ranked now' : `now ${now}`
        const title = `Position of ${domain} for ${line.name}, day by day`
        return html`<figure>
          <figcaption>${line.name} <span class="soft">${words}</span></figcaption>
          ${drawSmall({ ...chart, title, series: [line] })}
        </figure>`
      })}
    </div>`,
  )
}

export type ReportFound = Awaited<ReturnType<typeof readReport>>

interface ReportOrder {
  /** Queries and days to which the views are already restricted. */
  readonly slice: Slice
  /** Requested domains. If empty, the report shows our own domains or, if there are none, the largest domains. */
  readonly domains: readonly string[]
  /** Domains that are ours on this day are shown as ours. */
  readonly today: string
  readonly config: Pick<Config, 'renewal' | 'zone'>
}

const mostLists = 5

/** Reads the report in one snapshot, with the statements that the desk's pages use. */
export async function readReport(trx: Database, order: ReportOrder) {
  const figures = await readFigures(trx, order)
  return {
    figures,
    held: await readHeld(trx, figures),
    lists: await readLists(trx, figures, order),
    // Credits and operations; null if the login may not read the internal tables.
    books: (await mayReadBooks(trx)) ? await readBooks(trx, figures, order) : null,
    zone: order.config.zone,
  }
}

/** Reads the domains, their position changes on the newest full day, and notes numbered as in the whole report. */
async function readHeld(trx: Database, figures: Figures): Promise<readonly DomainFound[]> {
  const { domains, span, day, previous, notes, suspect } = figures
  const until = day ?? span.until
  const compared = { since: previous ?? until, until, cut: false }
  const held: DomainFound[] = []
  for (const known of domains) {
    held.push(await readDomain(trx, known, { span, compared, notes, suspect, memory: {} }))
  }
  return held
}

async function readLists(trx: Database, { span }: Figures, { slice }: ReportOrder) {
  const isChosen = listFilter(slice)
  const all = await readListFacts(trx, null)
  const newest = all
    .filter(({ name, runDate }) => isChosen(name) && runDate !== null && runDate >= span.since)
    .toSorted((a, b) => ((a.runDate ?? '') < (b.runDate ?? '') ? 1 : -1))
  const lists: CoverageFound[] = []
  for (const list of newest.slice(0, mostLists)) {
    const found = await readListDays(trx, { memory: {}, name: list.name, ...span })
    lists.push({ list, span, days: found })
  }
  return lists
}

async function readBooks(
  trx: Database,
  { span, origins }: Figures,
  { config, slice }: ReportOrder,
) {
  const isChosen = listFilter(slice)
  const zoned = { ...span, zone: config.zone }
  const money = await readAccountsFound(trx, zoned)
  const nights = await readCalendar(trx, { ...span, limit: mostEntries })
  return {
    nights: nights.filter(({ list }) => list === null || isChosen(list)),
    money: {
      ...money,
      accounts: money.accounts.filter(({ origin }) => origins.includes(origin)),
      events: await readRises(trx, zoned, config),
    },
  }
}

type Figures = Awaited<ReturnType<typeof readFigures>>

// Default and maximum numbers of days in a chart. A chart with more days would be unreadable.
const days = { days: 90, most: 400 } as const
const mostShares = 8
const greatestShown = 6

/** Reads all figures in one snapshot, because the numbers in a report must agree. */
async function readFigures(trx: Database, options: ReportOrder) {
  const { slice } = options
  const { since = null, until = null, conditions } = slice
  const parameters = { since, until, sliced: conditions.length > 0 }
  const { newest, ...totals } = only(
    await readRows<ReportSummary>(trx, 'read_report_summary', parameters),
  )
  const span = await readSpan(trx, { since, until: until ?? newest, ...days })
  const on = { day: totals.day, most: greatestShown }
  const largest = await readRows<{ domain: string }>(trx, 'read_greatest_domains', on)
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
    ...totals,
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
  { domains: asked, today }: ReportOrder,
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

const books = ['accounts', 'calls', 'nights', 'night_health', 'schedules', 'workers']

/** True if the reader, unlike an analyst, may read internal tables. A denied read would abort the transaction. */
async function mayReadBooks(trx: Database): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`
    select bool_and(has_table_privilege('public.' || name, 'select')) as may
    from unnest(${books}::text[]) as name`.execute(trx)
  return only(rows).may
}
