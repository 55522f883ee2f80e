// The page of a ranking URL: where it ranks, since when, and what replaced it.

import type { Database } from '../../base/database/database.ts'
import { groupBy } from '../../base/query.ts'
import type { DomainDay } from '../../features/analysis/domains.ts'
import { type Note, readNotesBetween } from '../../features/analysis/notes.ts'
import {
  mostPageDays,
  type NewestAnswer,
  type PageDay,
  type PageFacts,
  type PageMove,
  readNewestAnswers,
  readPageDays,
  readPageFacts,
  readPageHoldings,
  readPageMoves,
} from '../../features/analysis/page-days.ts'
import { readSuspects, type SuspectRun } from '../../features/analysis/query-facts.ts'
import {
  type AskedSpan,
  fromFirstAnswers,
  type ReadSpan,
  readSpan,
} from '../../features/analysis/span.ts'
import { NotThere } from '../address.ts'
import { type Html, html, link } from '../drawing/html.ts'
import { noteList } from '../drawing/lines.ts'
import { amount, given, nothing, section, table, tiles, to, unknown } from '../drawing/parts.ts'
import { definePage, type PagePlace } from '../page.ts'
import { askedSpan, chooser, dayFields, daysText } from './choose.ts'
import { drawHoldings, drawWonAndLost } from './domain.ts'
import { moved, nightPath, toDomain, toQuery } from './ways.ts'

/** The page of a ranking URL: its queries, since when, and the pages that replaced it. */
export const onePage = definePage({
  path: '/pages/:page',
  area: 'Domains',
  ask: (address) => ({
    id: address.uuid('page'),
    span: askedSpan(address, { days: 30, most: 120 }),
  }),
  read: (reading, asked) => reading.answers((db) => readPagePage(db, asked)),
  show: (found, place) => {
    const { page, span, days, newest, held } = found
    const queries = queriesOf(days, newest)
    const gone = queries.filter(isGone)
    const standing = queries.length - gone.length
    const cut = days.length === mostPageDays ? ' Only the newest positions are shown.' : ''
    return {
      title: page.key,
      lead: html`<bdi dir="auto">${link(page.url, page.url)}</bdi>, of
        ${toDomain(place, page.domain, span)}. ${daysText(span, place)}.${cut}`,
      body: html`${chooser({ place, name: 'Which days' }, dayFields(span))}
      ${
        days.length === 0
          ? nothing('No answer in this period shows the page.', null)
          : html`${tiles([
              { value: amount(standing), text: 'queries that show it now' },
              { value: amount(gone.length), text: 'queries that lost it' },
              {
                value: amount(Math.min(...days.map(({ position }) => position))),
                text: 'best position',
              },
              { value: amount(titlesOf(days).length), text: 'titles' },
            ])}
            ${noteList(found.notes)}
            ${drawHoldings({ name: page.key, days: held, notes: found.notes, suspect: found.suspect }, place)}
            ${drawPageMoves(found, place)} ${drawPageQueries(queries, place)}
            ${drawTitles(titlesOf(days))}`
      }`,
    }
  },
})

interface PageFound {
  readonly page: PageFacts
  readonly span: ReadSpan
  /** The two days compared for position changes. */
  readonly compared: ReadSpan
  readonly days: readonly PageDay[]
  readonly newest: readonly NewestAnswer[]
  readonly held: readonly DomainDay[]
  readonly notes: readonly Note[]
  readonly suspect: readonly SuspectRun[]
  readonly moves: readonly PageMove[]
}

async function readPagePage(
  db: Database,
  asked: { readonly id: string; readonly span: AskedSpan },
): Promise<PageFound> {
  const page = await readPageFacts(db, asked.id)
  if (page === null) throw new NotThere('There is no such page in any answer.')
  const span = await readSpan(db, asked.span)
  const compared = await fromFirstAnswers(db, span)
  const days = await readPageDays(db, { key: page.key, ...span })
  const last = [...groupBy(days, ({ queryId }) => queryId).values()].flatMap((own) =>
    own.slice(0, 1),
  )
  return {
    page,
    span,
    compared,
    days,
    newest: await readNewestAnswers(db, last, span),
    held: await readPageHoldings(db, { key: page.key, ...span }),
    notes: await readNotesBetween(db, span),
    suspect: await readSuspects(db, span),
    moves: await readPageMoves(db, { key: page.key, ...compared }),
  }
}

/** Each query with the page's first and last positions, and the domain now there if the page is gone. */
function drawPageQueries(queries: readonly PageQuery[], place: PagePlace): Html {
  const now = (query: PageQuery) => (isGone(query) ? null : query.last.position)
  return section(
    {
      id: 'queries',
      title: html`Queries (${amount(queries.length)})`,
      about: 'A query is gone if its newest answer is deep enough to show the page and does not.',
    },
    table(
      'Queries of the page',
      [
        {
          head: 'Query',
          cell: ({ queryId, q, variant }) =>
            html`${toQuery(place, queryId, q)}${variant === '' ? null : html` <span class="soft">${variant}</span>`}`,
        },
        { head: 'First', number: true, cell: ({ first }) => amount(first.position) },
        { head: 'Now', number: true, cell: (query) => amount(now(query)) },
        { head: 'Move', number: true, cell: (query) => moved(query.first.position, now(query)) },
        { head: 'Best', number: true, cell: ({ best }) => amount(best) },
        { head: 'Days', number: true, cell: ({ days }) => amount(days) },
        { head: 'Last seen', word: true, cell: (query) => nights(query, place) },
        {
          head: 'Now at its position',
          cell: (query) => (isGone(query) ? toDomain(place, query.newest?.taker ?? null) : unknown),
        },
      ],
      queries.slice(0, 200),
    ),
  )
}

/** Link to the last night with the page, compared with the newest night if it is gone, or else with the first. */
function nights(query: PageQuery, place: PagePlace): Html {
  const { queryId, first, last, newest } = query
  const night = to(place.href(nightPath(queryId, last.runDate)), last.runDate)
  const other = isGone(query) ? newest : first
  if (other === null || other.search === last.search) return night
  const [early, late] = [other.runDate, last.runDate].toSorted()
  const beside = place.href(nightPath(queryId, late ?? ''), { beside: early ?? '' })
  return html`${night} · ${to(beside, `compare with ${other.runDate}`)}`
}

function drawTitles(titles: readonly PageTitle[]): Html {
  return section(
    { id: 'titles', title: 'Titles' },
    table(
      'Titles with their days',
      [
        { head: 'Title', cell: ({ title }) => given(title) },
        { head: 'First seen', word: true, cell: ({ first }) => first },
        { head: 'Last seen', word: true, cell: ({ last }) => last },
      ],
      titles.slice(0, 50),
    ),
  )
}

/** Gains and losses of a page between two days, and the pages that replaced it. */
function drawPageMoves(
  { compared, moves }: Pick<PageFound, 'compared' | 'moves'>,
  place: PagePlace,
): Html {
  const taker = {
    head: 'Now at its position',
    cell: (move: PageMove) => toDomain(place, move.taker),
  }
  return drawWonAndLost({ compared, moves }, place, [taker])
}

interface PageQuery {
  readonly queryId: string
  readonly q: string
  readonly variant: string
  readonly days: number
  readonly best: number
  readonly first: PageDay
  readonly last: PageDay
  /** Newest answer of the query; the page may be gone if it differs from the last one with the page. */
  readonly newest: NewestAnswer | null
}

/** True if the newest answer lacks the page although it is deep enough to show its last position. */
function isGone({ last, newest }: PageQuery): boolean {
  return newest !== null && newest.runDate > last.runDate && newest.depth >= last.position
}

/** Queries of a page: those where it ranks by position, followed by those it lost. */
function queriesOf(
  days: readonly PageDay[],
  newest: readonly NewestAnswer[],
): readonly PageQuery[] {
  const answers = new Map(newest.map((answer) => [answer.queryId, answer]))
  const found = [...groupBy(days, ({ queryId }) => queryId)].flatMap(([queryId, own]) => {
    const [last, first] = [own[0], own.at(-1)]
    if (last === undefined || first === undefined) return []
    const best = Math.min(...own.map(({ position }) => position))
    const { q, variant } = last
    return [
      {
        queryId,
        q,
        variant,
        days: own.length,
        best,
        first,
        last,
        newest: answers.get(queryId) ?? null,
      },
    ]
  })
  return found.toSorted(
    (a, b) => Number(isGone(a)) - Number(isGone(b)) || a.last.position - b.last.position,
  )
}

interface PageTitle {
  readonly title: string | null
  readonly first: string
  readonly last: string
}

function titlesOf(days: readonly PageDay[]): readonly PageTitle[] {
  return [...groupBy(days, ({ title }) => title)].map(([title, own]) => ({
    title,
    first: own.at(-1)?.runDate ?? '',
    last: own[0]?.runDate ?? '',
  }))
}
