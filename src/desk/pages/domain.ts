// The page of a domain: its positions, its gains and losses, and its rivals.

import { npmRun } from '../../base/cli/commands.ts'
import { siteName } from '../../base/address.ts'
import { count } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { groupBy } from '../../base/query.ts'
import { dayOf } from '../../base/time/zone.ts'
import {
  type DomainDay,
  type DomainFlow,
  type DomainPage,
  type DomainRow,
  type HeldDay,
  type KnownDomain,
  type PlaceMove,
  readDomainDays,
  readDomainFlows,
  readDomainMoves,
  readDomainPages,
  readDomainTable,
  readHeldDays,
  readKnownDomain,
  readRivals,
  type Rival,
} from '../../features/analysis/domains.ts'
import { type Note, readNotesBetween } from '../../features/analysis/notes.ts'
import { readSuspects, type SuspectRun } from '../../features/analysis/query-facts.ts'
import {
  type AskedSpan,
  fromFirstAnswers,
  type ReadSpan,
  readSpan,
} from '../../features/analysis/span.ts'
import { NotThere } from '../address.ts'
import { change, clicks, type Html, html } from '../drawing/html.ts'
import { type Band, drawPicture, noteList, type Series } from '../drawing/lines.ts'
import {
  amount,
  badge,
  type Column,
  nothing,
  percent,
  section,
  table,
  tiles,
  to,
} from '../drawing/parts.ts'
import { definePage, type PagePlace } from '../page.ts'
import { askedSpan, chooser, dayFields, daysText, textField } from './choose.ts'
import { moved, nightPath, toDomain, toPage, toQuery } from './ways.ts'

const mostMoves = 15

/** Gains and losses of a domain between two days, and the domains that took its positions. */
export function drawMoves({ compared, moves, flows, known }: DomainFound, place: PagePlace): Html {
  if (compared.since >= compared.until) {
    return section(
      { id: place.id('moves'), title: 'Won and lost' },
      nothing('No earlier day has answers to compare with.', null),
    )
  }
  const taken = section(
    {
      id: place.id('taken'),
      title: 'Who took it',
      about: `Clicks, estimated from the click curve and the weights of queries. What ${known.domain} lost for a query is divided among those that gained there.`,
    },
    flows.length === 0
      ? nothing('No changes between these days.', null)
      : table(
          'Domains that gained or lost clicks',
          [
            {
              head: 'Domain',
              cell: ({ domain }) =>
                domain === null
                  ? html`<span class="none">no known domain</span>`
                  : toDomain(place, domain, compared),
            },
            { head: 'Took', number: true, cell: ({ taken: value }) => clicks(-value) },
            { head: 'Gave', number: true, cell: ({ won: value }) => clicks(value) },
            { head: 'Queries', number: true, cell: ({ queries }) => amount(queries) },
          ],
          flows,
        ),
  )
  return html`${drawWonAndLost({ compared, moves }, place)} ${taken}`
}

interface Compared<Move> {
  readonly compared: Pick<ReadSpan, 'since' | 'until'>
  readonly moves: readonly Move[]
}

/** Queries won next to queries lost, with further columns for the latter. */
export function drawWonAndLost<Move extends PlaceMove>(
  { compared, moves }: Compared<Move>,
  place: PagePlace,
  more: readonly Column<Move>[] = [],
): Html {
  const won = moves.filter((move) => (move.position ?? Infinity) < (move.previous ?? Infinity))
  const lost = moves.filter((move) => !won.includes(move))
  const two = `Between the last known answers on ${compared.since} and on ${compared.until}.`
  const part = (id: string, title: string, found: readonly Move[]) =>
    section(
      { id: place.id(id), title: html`${title} (${amount(found.length)})`, about: two },
      found.length === 0
        ? nothing('No changes between these days.', null)
        : table(
            `${title}, query by query`,
            [...moveColumns(place), ...(id === 'lost' ? more : [])],
            found.slice(0, mostMoves),
          ),
    )
  return html`<div class="pair">${part('won', 'Won', won)} ${part('lost', 'Lost', lost)}</div>`
}

function moveColumns(place: PagePlace): readonly Column<PlaceMove>[] {
  return [
    {
      head: 'Query',
      cell: ({ queryId, q, variant }) =>
        html`${toQuery(place, queryId, q)}${variant === '' ? null : html` <span class="soft">${variant}</span>`}`,
    },
    { head: 'Before', number: true, cell: ({ previous }) => amount(previous) },
    { head: 'Now', number: true, cell: ({ position }) => amount(position) },
    { head: 'Move', number: true, cell: ({ previous, position }) => moved(previous, position) },
    { head: 'Clicks', number: true, cell: ({ clicks: value }) => clicks(value) },
    ...(place.still ? [] : [bothNights(place)]),
  ]
}

function bothNights(place: PagePlace): Column<PlaceMove> {
  return {
    head: 'Both nights',
    word: true,
    cell: ({ queryId, runDate, previousDate }) =>
      to(place.href(nightPath(queryId, runDate), { beside: previousDate }), 'side by side'),
  }
}

export interface DomainFound {
  readonly known: KnownDomain
  readonly span: ReadSpan
  /** The two days compared for position changes. */
  readonly compared: ReadSpan
  readonly days: readonly DomainDay[]
  readonly notes: readonly Note[]
  readonly suspect: readonly SuspectRun[]
  readonly moves: readonly PlaceMove[]
  readonly flows: readonly DomainFlow[]
  readonly pages: readonly DomainPage[]
  readonly rivals: readonly Rival[]
}

async function readDomainPage(
  db: Database,
  asked: { readonly domain: string; readonly span: AskedSpan },
): Promise<DomainFound> {
  const known = await expectDomain(db, asked.domain)
  const span = await readSpan(db, asked.span)
  return readDomain(db, known, {
    span,
    compared: await fromFirstAnswers(db, span),
    notes: await readNotesBetween(db, span),
    suspect: await readSuspects(db, span),
  })
}

/** Data shared by all domains for the same days. */
type DomainDays = Pick<DomainFound, 'span' | 'compared' | 'notes' | 'suspect'>

/** Reads all data of a domain for some days; it need not be in any answer. */
export async function readDomain(
  db: Database,
  known: KnownDomain,
  told: DomainDays,
): Promise<DomainFound> {
  const { span, compared } = told
  const of = { domain: known.domain, ...span }
  return {
    ...told,
    known,
    days: await readDomainDays(db, of),
    moves: await readDomainMoves(db, { ...of, ...compared }),
    flows: await readDomainFlows(db, { ...of, ...compared }),
    pages: await readDomainPages(db, of),
    rivals: await readRivals(db, of),
  }
}

async function expectDomain(db: Database, domain: string): Promise<KnownDomain> {
  const known = await readKnownDomain(db, domain)
  if (known !== null) return known
  throw new NotThere(
    `No answer ever showed ${JSON.stringify(domain.slice(0, 80))}, and it is neither ours nor a rival's.`,
  )
}

export function drawPages({ pages, span }: DomainFound, place: PagePlace): Html {
  return section(
    { id: place.id('pages'), title: 'Pages', about: `In the last known answers on ${span.until}.` },
    pages.length === 0
      ? nothing('No answer of that day shows a page of the domain.', null)
      : table(
          'Pages of the domain',
          [
            { head: 'Page', cell: ({ page, pageKey }) => toPage(place, page, pageKey) },
            { head: 'Queries', number: true, cell: ({ queries }) => amount(queries) },
            { head: 'Best position', number: true, cell: ({ best }) => amount(best) },
            { head: 'For', cell: ({ exampleId, example }) => toQuery(place, exampleId, example) },
          ],
          pages,
        ),
  )
}

export function drawRivals({ rivals, span }: DomainFound, place: PagePlace): Html {
  return section(
    { id: place.id('rivals'), title: 'Rivals', about: `In the same answers, on ${span.until}.` },
    rivals.length === 0
      ? nothing('Domains in the same answers will be shown here.', null)
      : table(
          'Domains of the same answers',
          [
            { head: 'Domain', cell: ({ domain }) => toDomain(place, domain, span) },
            { head: 'Shared', number: true, cell: ({ shared }) => amount(shared) },
            { head: 'Ranks higher', number: true, cell: ({ ahead }) => amount(ahead) },
            { head: 'Best position', number: true, cell: ({ best }) => amount(best) },
          ],
          rivals,
        ),
  )
}

/** Shares of one or more domains by day, with notes about these days. */
interface ShareFound {
  readonly shares: readonly Pick<HeldDay, 'domain' | 'runDate' | 'share' | 'thin'>[]
  readonly notes: readonly Note[]
  readonly suspect: readonly SuspectRun[]
}

interface ShareTitle {
  /** Description of the chart in a sentence. */
  readonly picture: string
  /** Which queries are counted, and how. */
  readonly about: Html | string
}

/** Size and layout of charts over days. */
export const dayPicture = {
  grain: 'day',
  width: 1040,
  height: 260,
  named: true,
  hover: true,
} as const

/** Share of voice as one line per domain; excluded days are listed, suspect ones also shaded. */
export function drawShares(
  { shares: found, notes, suspect }: ShareFound,
  { picture, about }: ShareTitle,
  place: PagePlace,
): Html {
  const thin = [...new Set(found.filter((day) => day.thin).map(({ runDate }) => runDate))]
  const shown = found.filter((day) => !day.thin)
  const greatest = Math.max(0.001, ...shown.map(({ share }) => share ?? 0))
  const drawn = drawPicture({
    title: picture,
    series: [...groupBy(shown, ({ domain }) => domain)].map(([name, own]) => ({
      name,
      points: own.map(({ runDate, share }) => ({ at: dayOf(runDate), value: share })),
    })),
    notes,
    bands: suspectBands(suspect, place),
    range: [0, greatest * 1.05],
    format: (value) => `${Math.round(value * 1000) / 10} %`,
    ...dayPicture,
  })
  const few =
    thin.length === 0
      ? null
      : html` Left out, since fewer than half of the usual queries were answered:
        ${thin.join(', ')}.`
  return section(
    {
      id: place.id('share'),
      title: 'Share of voice',
      about: html`${about}${few}${suspectWords(suspect, place)}`,
    },
    drawn,
  )
}

export function suspectBands(
  suspect: readonly SuspectRun[],
  { suspects }: PagePlace,
): readonly Band[] {
  if (suspects) return []
  return suspect.map(({ runDate, list, reasons }) => ({
    at: dayOf(runDate),
    name: `${runDate}: ${list} is suspect and left out (${reasons.join('; ')})`,
  }))
}

// The reasons are in the chart, and among the nights.
const toldSuspects = 5

function suspectWords(suspect: readonly SuspectRun[], { suspects, href }: PagePlace): Html | null {
  if (suspects || suspect.length === 0) return null
  const days = [...new Set(suspect.map(({ runDate }) => runDate))]
  const more = days.length - toldSuspects
  return html` Shaded days are ${to(href('/nights'), 'suspect')} and left out:
  ${days.slice(0, toldSuspects).join(', ')}${more > 0 ? ` and ${count(more, 'day')} before` : ''}.`
}

/** Positions of a domain or page over some days. */
interface Holdings {
  readonly name: string
  readonly days: readonly DomainDay[]
  readonly notes: readonly Note[]
  readonly suspect: readonly SuspectRun[]
}

/** Share and positions of a domain or page over time, as charts and numbers. */
export function drawHoldings(found: Holdings, place: PagePlace): Html {
  const days = found.days.filter(({ thin }) => !thin)
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) {
    return nothing('No query was answered on these days.', npmRun('enqueue inputs/keywords.csv'))
  }
  return html`${tiles([
    { value: percent(last.share), text: `share of voice on ${last.runDate}` },
    {
      value: change((last.share ?? 0) - (first.share ?? 0)),
      text: `points since ${first.runDate}`,
    },
    { value: amount(last.ranked), text: `queries with a position, of ${last.queries}` },
    { value: amount(last.top3), text: 'of these at 1 to 3' },
  ])}
  ${drawShares(
    { ...found, shares: found.days.map((day) => ({ ...day, domain: found.name })) },
    {
      picture: `Share of voice of ${found.name}, day by day`,
      about: 'Share of the clicks that its best positions would get, by weight.',
    },
    place,
  )}
  ${drawPlaces(found, days, place)}`
}

const at = ({ runDate }: DomainDay) => dayOf(runDate)

const buckets: readonly { name: string; count: (day: DomainDay) => number }[] = [
  { name: '1 to 3', count: ({ top3 }) => top3 },
  { name: '4 to 10', count: ({ top10, top3 }) => top10 - top3 },
  { name: '11 to 20', count: ({ top20, top10 }) => top20 - top10 },
  { name: 'further down', count: ({ ranked, top20 }) => ranked - top20 },
  { name: 'not in', count: ({ queries, ranked }) => queries - ranked },
]

function drawPlaces(
  { name: whose, notes, suspect }: Holdings,
  days: readonly DomainDay[],
  place: PagePlace,
): Html {
  const series: Series[] = buckets.slice(0, 4).map(({ name, count: places }) => ({
    name,
    points: days.map((day) => ({ at: at(day), value: places(day) })),
  }))
  const greatest = Math.max(
    1,
    ...series.flatMap(({ points }) => points.map(({ value }) => value ?? 0)),
  )
  const title = `Queries for which ${whose} ranks at 1 to 3, 4 to 10 and further down, day by day`
  const picture = drawPicture({
    title,
    notes,
    bands: suspectBands(suspect, place),
    series,
    range: [0, greatest * 1.05],
    format: String,
    ...dayPicture,
    ticks: whole(greatest),
  })
  return section(
    {
      id: place.id('places'),
      title: 'Places',
      about: 'Number of queries by its best position.',
    },
    html`${picture}
      <details id="${place.id('places-numbers')}">
        <summary>In numbers</summary>
        ${placeTable(days)}
      </details>`,
  )
}

function placeTable(days: readonly DomainDay[]): Html {
  return table(
    'Positions in numbers',
    [
      { head: 'Day', word: true, cell: ({ runDate }) => runDate },
      { head: 'Share', number: true, cell: ({ share }) => percent(share) },
      ...buckets.map(({ name, count: places }) => ({
        head: name,
        number: true as const,
        cell: (day: DomainDay) => amount(places(day)),
      })),
      { head: 'Queries', number: true, cell: ({ queries }) => amount(queries) },
    ],
    days.toReversed(),
  )
}

/** Numbers of queries are whole. */
function whole(greatest: number): readonly number[] {
  const step = Math.max(1, Math.ceil(greatest / 4))
  return [0, 1, 2, 3, 4].map((n) => n * step).filter((tick) => tick <= greatest * 1.05)
}

/** The page of a domain: its positions, gains, losses and rivals. */
export const domainPage = definePage({
  path: '/domains/:domain',
  area: 'Domains',
  ask: (address) => ({
    domain: siteName(address.part('domain')),
    span: askedSpan(address, { days: 30, most: 120 }),
  }),
  read: (reading, asked) => reading.answers((db) => readDomainPage(db, asked)),
  show: (found, place) => ({
    title: found.known.domain,
    lead: html`${found.known.label === null ? null : html`Ours: ${found.known.label}. `}From
    ${daysText(found.span, place)}.`,
    body: html`${chooser({ place, name: 'Which days' }, dayFields(found.span))}
      ${noteList(found.notes)} ${drawHoldings({ ...found, name: found.known.domain }, place)}
      ${drawMoves(found, place)}
      <div class="pair">${drawPages(found, place)} ${drawRivals(found, place)}</div>`,
  }),
})

interface DomainsFound extends ShareFound {
  readonly span: ReadSpan
  readonly rows: readonly DomainRow[]
}

const mostDrawn = 6

/** The page of all domains: their shares, gains and losses between two days. */
export const domainsPage = definePage({
  path: '/domains',
  nav: 'Domains',
  ask: (address) => ({
    span: askedSpan(address, { days: 8, most: 400 }),
    word: address.text('word'),
  }),
  read: (reading, { span, word }) =>
    reading.answers(async (db): Promise<DomainsFound> => {
      const days = await fromFirstAnswers(db, await readSpan(db, span))
      const rows = await readDomainTable(db, days, word)
      const domains = rows.slice(0, mostDrawn).map(({ domain }) => domain)
      return {
        span: days,
        rows,
        shares: await readHeldDays(db, { domains, tag: '*', ...days }),
        notes: await readNotesBetween(db, days),
        suspect: await readSuspects(db, days),
      }
    }),
  show: ({ span, rows, ...found }, place, { word }) => ({
    title: 'Domains',
    lead: `Shares of the clicks on the first and the last answered day: ${daysText(span, place)}.`,
    body: html`${chooser({ place, name: 'Which domains, which days' }, [
      textField({ name: 'word', label: 'Name, or a part of it', value: word }),
      dayFields(span),
    ])}
    ${rows.length === 0 ? empty(word) : html`${winners(rows, { place, span })} ${drawShares(found, greatestDomains, place)} ${shares(rows, { place, span })}`}`,
  }),
})

const greatestDomains = {
  picture: 'Share of voice of the first domains listed below, day by day',
  about: 'Share of the clicks that their best positions would get, by weight, over all queries.',
}

function empty(word: string | null): Html {
  return word === null
    ? nothing(
        'Domains in the answers will be shown here: the share of each, who won and who lost.',
        npmRun('enqueue inputs/keywords.csv'),
      )
    : nothing(
        `No domain with ${JSON.stringify(word)} in its name appears in the answers of these days.`,
        null,
      )
}

interface Around {
  readonly place: PagePlace
  readonly span: ReadSpan
}

function winners(rows: readonly DomainRow[], around: Around): Html {
  const gain = ({ share, previousShare }: DomainRow) => share - previousShare
  const up = rows.filter((row) => gain(row) > 0).toSorted((a, b) => gain(b) - gain(a))
  const down = rows.filter((row) => gain(row) < 0).toSorted((a, b) => gain(a) - gain(b))
  const short = (name: string, id: string, shown: readonly DomainRow[]) =>
    section(
      { id, title: name },
      shown.length === 0
        ? nothing('No domain between these days.', null)
        : domainTable(`${name}, domain by domain`, shown.slice(0, 8), around),
    )
  return html`<div class="pair">
    ${short('Winners', 'winners', up)} ${short('Losers', 'losers', down)}
  </div>`
}

function shares(rows: readonly DomainRow[], around: Around): Html {
  const about = 'Ours first, then by their share; at most a hundred.'
  return section(
    { id: 'shares', title: 'Shares', about },
    domainTable('Domains by share', rows, around),
  )
}

function domainTable(name: string, rows: readonly DomainRow[], { place, span }: Around): Html {
  return table(
    name,
    [
      {
        head: 'Domain',
        cell: ({ domain, ours }) =>
          html`${toDomain(place, domain, span)} ${ours ? badge('ours', 'good') : null}`,
      },
      { head: 'Share', number: true, cell: ({ share }) => percent(share) },
      {
        head: `Since ${span.since}`,
        number: true,
        cell: ({ share, previousShare }) => change(share - previousShare),
      },
      { head: 'Queries', number: true, cell: ({ ranked }) => amount(ranked) },
      { head: 'Of these 1 to 3', number: true, cell: ({ top3 }) => amount(top3) },
    ],
    rows,
  )
}
