// Domain pages: shares, positions, gains, losses and rivals.

import { npmRun } from '../../base/cli/commands.ts'
import { siteName } from '../../base/address.ts'
import { count } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { only, readRows } from '../../base/database/sql-file.ts'
import { groupBy } from '../../base/query.ts'
import { dayOf, type DaySpan } from '../../base/time/zone.ts'
import { type DomainDay, type HeldDay, readHeldDays } from '../../features/analysis/domains.ts'
import { readNotesBetween, readSuspects } from '../../features/analysis/notes.ts'
import { type AskedSpan, type ReadSpan, readSpan } from '../../features/analysis/span.ts'
import { NotThere } from '../address.ts'
import { change, type Html, html } from '../drawing/html.ts'
import { dayLine, drawDays, type Happening, noteList } from '../drawing/lines.ts'
import { badge, nothing, percent, section, tiles, to } from '../drawing/parts.ts'
import { type Column, column, table, tableSection } from '../drawing/tables.ts'
import { definePage, type PagePlace } from '../page.ts'
import { storedFigures } from '../stored-figures.ts'
import { askedSpan, chooser, dayChooser, dayFields, daysText, textField } from './choose.ts'
import { moved, toDomain, toNight, toPage, toQuery, toVariant } from './ways.ts'

export const domainPage = definePage({
  path: '/domains/:domain',
  area: 'Domains',
  ask: (address) => ({
    domain: siteName(address.part('domain')),
    span: askedSpan(address, { days: 30, most: 120 }),
  }),
  read: (reading, asked) => reading.answers((db) => readDomainPage(db, reading.mill, asked)),
  show: (found, place) => ({
    title: found.known.domain,
    lead: html`${found.known.label === null ? null : html`Ours: ${found.known.label}. `}From
    ${daysText(found.span, place)}.`,
    body: html`${dayChooser(place, found.span)} ${noteList(found.notes)} ${drawDomain(found, place)}`,
  }),
})

const cached = storedFigures<Awaited<ReturnType<typeof readCompared>>>(50)

async function readDomainPage(
  db: Database,
  memory: object,
  { domain, span }: { readonly domain: string; readonly span: AskedSpan },
) {
  const { there, label } = await db
    .selectNoFrom((eb) => [
      eb
        .or(
          (['domains', 'own_domains', 'rival_domains'] as const).map((name) =>
            eb.exists(eb.selectFrom(name).select('domain').where('domain', '=', domain)),
          ),
        )
        .as('there'),
      eb
        .selectFrom('own_domains')
        .select('label')
        .where('domain', '=', domain)
        .orderBy('since', (order) => order.desc().nullsLast())
        .limit(1)
        .as('label'),
    ])
    .executeTakeFirstOrThrow()
  if (there !== true) {
    throw new NotThere(
      `${JSON.stringify(domain.slice(0, 80))} has never appeared in an answer, and is not marked as ours or as a rival.`,
    )
  }
  return readDomain(db, { domain, label }, { ...(await readDays(db, span)), memory })
}

/** Cache key for the figures of a domain or page on the given days; null if these days' sums are not stored. */
export async function versionOf(
  db: Database,
  { span: { since, until }, compared }: Pick<DomainDays, 'span' | 'compared'>,
  name: string,
): Promise<string | null> {
  const parameters = { since, until, compared: compared.since }
  type Found = { readonly version: string | null }
  const { version } = only(await readRows<Found>(db, 'read_stored_version', parameters))
  return version === null ? null : JSON.stringify([version, since, until, compared.since, name])
}

export type DomainDays = Awaited<ReturnType<typeof readDays>>

/** Moves a period's start to its first day with answers. */
async function fromFirstAnswers(db: Database, { since, until, cut }: ReadSpan): Promise<ReadSpan> {
  const rows = await readRows<{ since: string }>(db, 'read_first_answered', { since, until })
  return { since: only(rows).since, until, cut }
}

export async function readDays(db: Database, asked: AskedSpan) {
  const span = await readSpan(db, asked)
  // `compared` holds the two days whose positions are compared.
  return { span, compared: await fromFirstAnswers(db, span), ...(await readMarks(db, span)) }
}

type Marks = Awaited<ReturnType<typeof readMarks>>

export async function readMarks(db: Database, span: DaySpan) {
  return { notes: await readNotesBetween(db, span), suspect: await readSuspects(db, span) }
}

export type DomainFound = Awaited<ReturnType<typeof readDomain>>

/** Reads a domain, even if it appears in no answer. Figures for stored days are cached while `memory` exists. */
export async function readDomain(
  db: Database,
  known: { readonly domain: string; readonly label: string | null },
  { memory, ...told }: DomainDays & { readonly memory: object },
) {
  const { domain } = known
  const key = await versionOf(db, told, domain)
  return {
    ...told,
    known,
    days: await readHeldDays(db, { domains: [domain], ...told.span }),
    ...(await cached(memory, key, () => readCompared(db, domain, told))),
  }
}

/** A position change for one query, between the last known answers on two days. */
export interface PlaceMove {
  readonly queryId: string
  readonly q: string
  readonly variant: string
  readonly previous: number | null
  readonly position: number | null
  readonly previousDate: string
  readonly runDate: string
  /** Clicks won or lost, estimated from the query's weight and the click curve. */
  readonly clicks: number
}

/** Clicks that another domain won from the given domain, or lost to it, between two days. */
export interface DomainFlow {
  readonly domain: string | null
  readonly taken: number
  readonly won: number
  readonly queries: number
}

export interface DomainPage {
  readonly page: string | null
  readonly pageKey: string
  readonly queries: number
  readonly best: number
  readonly example: string
  readonly exampleId: string
}

export interface Rival {
  readonly domain: string
  readonly shared: number
  /** Number of shared answers in which the rival ranks higher. */
  readonly ahead: number
  readonly best: number
}

async function readCompared(db: Database, domain: string, { span, compared }: DomainDays) {
  const between = { domain, since: compared.since, until: compared.until }
  const now = { domain, until: span.until }
  return {
    moves: await readRows<PlaceMove>(db, 'read_domain_moves', between),
    flows: await readRows<DomainFlow>(db, 'read_domain_flows', between),
    pages: await readRows<DomainPage>(db, 'read_domain_pages', now),
    rivals: await readRows<Rival>(db, 'read_rivals', now),
  }
}

/** Draws the facts about a domain, with `ranks` above the moves. */
export function drawDomain(found: DomainFound, place: PagePlace, ranks: Html | null = null): Html {
  const { known, span, pages, rivals } = found
  return html`${drawHoldings({ ...found, name: known.domain }, place)} ${ranks}
    ${drawMoves(found, place)}
    <div class="pair">
      ${tableSection(
        {
          id: place.id('pages'),
          title: 'Pages',
          about: `Based on the latest answers as of ${span.until}.`,
          empty: 'The latest answers show no page of the domain.',
        },
        pages,
        [
          column.plain('Page', ({ page, pageKey }) => toPage(place, page, pageKey)),
          column.number('Queries', 'queries'),
          column.number('Best position', 'best'),
          column.plain('For', ({ exampleId, example }) => toQuery(place, exampleId, example)),
        ],
      )}
      ${tableSection(
        {
          id: place.id('rivals'),
          title: 'Rivals',
          about: `Based on the latest answers as of ${span.until}.`,
          empty: 'Domains that appear in the same answers will be shown here.',
        },
        rivals,
        [
          column.plain('Domain', ({ domain }) => toDomain(place, domain, span)),
          column.number('Shared', 'shared'),
          column.number('Ranks higher', 'ahead'),
          column.number('Best position', 'best'),
        ],
      )}
    </div>`
}

function drawMoves({ compared, moves, flows, known }: DomainFound, place: PagePlace): Html {
  if (compared.since >= compared.until) {
    return section(
      { id: place.id('moves'), title: 'Won and lost' },
      nothing('There are no answers from an earlier day to compare with.'),
    )
  }
  return html`${drawWonAndLost({ compared, moves }, place)}
  ${tableSection(
    {
      id: place.id('taken'),
      title: 'Clicks exchanged with other domains',
      about: `Estimated from the click curve and the weights of the queries. The clicks that ${known.domain} lost for a query are divided among the domains that gained clicks for that query.`,
      empty: 'No changes between these days.',
    },
    flows,
    [
      column.plain('Domain', ({ domain }) =>
        domain === null ? noDomain : toDomain(place, domain, compared),
      ),
      column.clicks('Took', ({ taken }) => -taken),
      column.clicks('Gave', 'won'),
      column.number('Queries', 'queries'),
    ],
  )}`
}

const noDomain = html`<span class="none">no known domain</span>`

const mostMoves = 15

/** Draws won and lost queries side by side. The table of lost queries also has the columns in `more`. */
export function drawWonAndLost<Move extends PlaceMove>(
  { compared, moves }: { readonly compared: DaySpan; readonly moves: readonly Move[] },
  place: PagePlace,
  more: readonly Column<Move>[] = [],
): Html {
  const won = moves.filter((move) => (move.position ?? Infinity) < (move.previous ?? Infinity))
  const lost = moves.filter((move) => !won.includes(move))
  const nights = column.word('Both nights', ({ queryId, runDate, previousDate }: PlaceMove) =>
    toNight(place, queryId, { day: runDate, beside: previousDate, text: 'side by side' }),
  )
  const part = (id: string, title: string, found: readonly Move[]) =>
    tableSection(
      {
        id: place.id(id),
        title,
        count: found.length,
        about: `Compares the latest answers as of ${compared.since} with those as of ${compared.until}.`,
        empty: 'No changes between these days.',
      },
      found.slice(0, mostMoves),
      [
        column.plain('Query', (move) => toVariant(place, move)),
        column.number('Before', 'previous'),
        column.number('Now', 'position'),
        column.right('Move', ({ previous, position }) => moved(previous, position)),
        column.clicks('Clicks', 'clicks'),
        ...(place.still ? [] : [nights]),
        ...(id === 'lost' ? more : []),
      ],
    )
  return html`<div class="pair">${part('won', 'Won', won)} ${part('lost', 'Lost', lost)}</div>`
}

interface ShareFound extends Marks {
  readonly shares: readonly Pick<HeldDay, 'domain' | 'runDate' | 'share' | 'thin'>[]
}

/** Draws the share of voice as one line per domain. Lists the excluded days, and also shades the suspect days. */
export function drawShares(
  { shares: found, notes, suspect }: ShareFound,
  { picture, about }: { readonly picture: string; readonly about: Html | string },
  place: PagePlace,
): Html {
  const thin = [...new Set(found.filter((day) => day.thin).map(({ runDate }) => runDate))]
  const shown = found.filter((day) => !day.thin)
  const few =
    thin.length === 0
      ? null
      : html` Left out because fewer than half of the usual queries were answered:
        ${thin.join(', ')}.`
  return section(
    {
      id: place.id('share'),
      title: 'Share of voice',
      about: html`${about}${few}${suspectWords(suspect, place)}`,
    },
    drawDays({
      title: picture,
      series: [...groupBy(shown, ({ domain }) => domain)].map(([name, own]) =>
        dayLine(name, own, ({ share }) => share),
      ),
      notes,
      bands: suspectBands(suspect, place),
      least: 0.001,
      format: (value) => `${Math.round(value * 1000) / 10} %`,
    }),
  )
}

export function suspectBands(
  suspect: Marks['suspect'],
  { suspects }: PagePlace,
): readonly Happening[] {
  if (suspects) return []
  return suspect.map(({ runDate, list, reasons }) => ({
    at: dayOf(runDate),
    name: `${runDate}: the run of ${list} is suspect and was left out (${reasons.join('; ')})`,
  }))
}

// The chart and the Nights page name all suspect days, with the reasons.
const toldSuspects = 5

function suspectWords(suspect: Marks['suspect'], { suspects, href }: PagePlace): Html | null {
  if (suspects || suspect.length === 0) return null
  const days = [...new Set(suspect.map(({ runDate }) => runDate))]
  const more = days.length - toldSuspects
  return html` Shaded days are ${to(href('/nights'), 'suspect')} and left out:
  ${days.slice(0, toldSuspects).join(', ')}${more > 0 ? ` and ${count(more, 'earlier day')}` : ''}.`
}

interface Holdings extends Marks {
  readonly name: string
  readonly days: readonly DomainDay[]
}

export function drawHoldings(found: Holdings, place: PagePlace): Html {
  const days = found.days.filter(({ thin }) => !thin)
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) {
    return nothing('No queries were answered on these days.', npmRun('enqueue inputs/keywords.csv'))
  }
  return html`${tiles([
    [`share of voice on ${last.runDate}`, percent(last.share)],
    [`points since ${first.runDate}`, change((last.share ?? 0) - (first.share ?? 0))],
    [`queries with a position (of ${last.queries})`, last.ranked],
    ['of these, in positions 1 to 3', last.top3],
  ])}
  ${drawShares(
    { ...found, shares: found.days.map((day) => ({ ...day, domain: found.name })) },
    {
      picture: `Share of voice of ${found.name}, day by day`,
      about: "Estimated share of clicks, based on the domain's best positions and query weights.",
    },
    place,
  )}
  ${drawPlaces(found, days, place)}`
}

const buckets: readonly (readonly [name: string, queriesAt: (day: DomainDay) => number])[] = [
  ['1 to 3', ({ top3 }) => top3],
  ['4 to 10', ({ top10, top3 }) => top10 - top3],
  ['11 to 20', ({ top20, top10 }) => top20 - top10],
  ['further down', ({ ranked, top20 }) => ranked - top20],
  ['not ranked', ({ queries, ranked }) => queries - ranked],
]

function drawPlaces(
  { name: whose, notes, suspect }: Holdings,
  days: readonly DomainDay[],
  place: PagePlace,
): Html {
  const picture = drawDays({
    title: `Queries for which ${whose} ranks 1 to 3, 4 to 10 or further down, day by day`,
    notes,
    bands: suspectBands(suspect, place),
    series: buckets.slice(0, 4).map(([name, queriesAt]) => dayLine(name, days, queriesAt)),
    format: String,
    whole: true,
  })
  const about = 'Number of queries by best position.'
  return section(
    { id: place.id('places'), title: 'Places', about },
    html`${picture}
      <details id="${place.id('places-numbers')}">
        <summary>In numbers</summary>
        ${table('Positions in numbers', days.toReversed(), [
          column.word('Day', 'runDate'),
          column.share('Share', 'share'),
          ...buckets.map(([name, queriesAt]) => column.number(name, queriesAt)),
          column.number('Queries', 'queries'),
        ])}
      </details>`,
  )
}

const mostDrawn = 6

interface DomainRow {
  readonly domain: string
  readonly ours: boolean
  /** `share` and `previousShare` are shares of clicks across all answered queries, on the later and the earlier day. */
  readonly share: number
  readonly previousShare: number
  readonly ranked: number
  readonly top3: number
}

export const domainsPage = definePage({
  path: '/domains',
  nav: 'Domains',
  ask: (address) => ({
    span: askedSpan(address, { days: 8, most: 400 }),
    word: address.text('word'),
  }),
  read: (reading, asked) =>
    reading.answers(async (db) => {
      const span = await fromFirstAnswers(db, await readSpan(db, asked.span))
      const parameters = { since: span.since, until: span.until, word: asked.word }
      const rows = await readRows<DomainRow>(db, 'read_domain_table', parameters)
      const domains = rows.slice(0, mostDrawn).map(({ domain }) => domain)
      return {
        span,
        rows,
        shares: await readHeldDays(db, { domains, ...span }),
        ...(await readMarks(db, span)),
      }
    }),
  show: ({ span, rows, ...found }, place, { word }) => ({
    title: 'Domains',
    lead: `Shares of clicks on the first and last days with answers, from ${daysText(span, place)}.`,
    body: html`${chooser({ place, name: 'Which domains and days' }, [
      textField('word', 'Name or part of it'),
      ...dayFields(span),
    ])}
    ${
      rows.length === 0
        ? noDomains(word)
        : html`${winners(rows, span, place)} ${drawShares(found, greatestDomains, place)}
          ${tableSection(
            {
              id: 'shares',
              title: 'Shares',
              about:
                'Our domains are listed first, then the other domains by share; at most 100 domains are shown.',
            },
            rows,
            domainColumns(span, place),
          )}`
    }`,
  }),
})

const greatestDomains = {
  picture: 'Share of voice of the first domains in the table, day by day',
  about: 'Estimated shares of clicks, based on best positions and the weights of all queries.',
}

function noDomains(word: string | null): Html {
  if (word === null) {
    const text =
      'Domains that appear in answers will be shown here, with their shares, gains and losses.'
    return nothing(text, npmRun('enqueue inputs/keywords.csv'))
  }
  return nothing(
    `No domain with ${JSON.stringify(word)} in its name appears in the answers from these days.`,
  )
}

function winners(rows: readonly DomainRow[], span: ReadSpan, place: PagePlace): Html {
  const gain = ({ share, previousShare }: DomainRow) => share - previousShare
  const up = rows.filter((row) => gain(row) > 0).toSorted((a, b) => gain(b) - gain(a))
  const down = rows.filter((row) => gain(row) < 0).toSorted((a, b) => gain(a) - gain(b))
  const short = (title: string, id: string, shown: readonly DomainRow[]) =>
    tableSection(
      { id, title, empty: 'No changes between these days.' },
      shown.slice(0, 8),
      domainColumns(span, place),
    )
  return html`<div class="pair">
    ${short('Winners', 'winners', up)} ${short('Losers', 'losers', down)}
  </div>`
}

function domainColumns(span: ReadSpan, place: PagePlace): readonly Column<DomainRow>[] {
  return [
    column.plain(
      'Domain',
      ({ domain, ours }) =>
        html`${toDomain(place, domain, span)} ${ours ? badge('ours', 'good') : null}`,
    ),
    column.share('Share', 'share'),
    column.change(`Since ${span.since}`, ({ share, previousShare }) => share - previousShare),
    column.number('Queries', 'ranked'),
    column.number('Of these, 1 to 3', 'top3'),
  ]
}
