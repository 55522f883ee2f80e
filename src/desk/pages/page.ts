// The page for a ranking URL, with its positions by date and the domains that replaced it.

import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { groupBy } from '../../base/query.ts'
import type { DomainDay } from '../../features/analysis/domains.ts'
import type { AskedSpan } from '../../features/analysis/span.ts'
import { NotThere } from '../address.ts'
import { type Html, html, link } from '../drawing/html.ts'
import { noteList } from '../drawing/lines.ts'
import { nothing, tiles, unknown } from '../drawing/parts.ts'
import { column, tableSection } from '../drawing/tables.ts'
import { definePage, type PagePlace } from '../page.ts'
import { storedFigures } from '../stored-figures.ts'
import { askedSpan, dayChooser, daysText } from './choose.ts'
import {
  type DomainDays,
  drawHoldings,
  drawWonAndLost,
  type PlaceMove,
  readDays,
  versionOf,
} from './domain.ts'
import { moved, seen, seenColumns, toDomain, toNight, toVariant } from './ways.ts'

export const onePage = definePage({
  path: '/pages/:page',
  area: 'Domains',
  ask: (address) => ({
    id: address.uuid('page'),
    span: askedSpan(address, { days: 30, most: 120 }),
  }),
  read: (reading, asked) => reading.answers((db) => readPage(db, reading.mill, asked)),
  show: (found, place) => {
    const { page, span, positions } = found
    const cut = positions === mostPageDays ? ' Only the newest positions are shown.' : ''
    return {
      title: page.key,
      lead: html`<bdi dir="auto">${link(page.url, page.url)}</bdi>, of
        ${toDomain(place, page.domain, span)}. ${daysText(span, place)}.${cut}`,
      body: html`${dayChooser(place, span)}
      ${positions === 0 ? nothing('The page does not appear in any answer from this period.') : drawPage(found, place)}`,
    }
  },
})

type PageFound = Awaited<ReturnType<typeof readPage>>

const cached = storedFigures<Awaited<ReturnType<typeof readFigures>>>(50)

async function readPage(db: Database, memory: object, asked: { id: string; span: AskedSpan }) {
  const page = await db
    .selectFrom('pages')
    .leftJoin('domains', 'domains.id', 'pages.domain_id')
    .select(['pages.id', 'pages.url', 'pages.url_key as key', 'domains.domain'])
    .where('pages.id', '=', asked.id)
    .executeTakeFirst()
  if (page === undefined) throw new NotThere('No answer contains this page.')
  const told = await readDays(db, asked.span)
  const version = await versionOf(db, told, page.key)
  return {
    ...told,
    page,
    ...(await cached(memory, version, () => readFigures(db, page.key, told))),
  }
}

const mostPageDays = 20_000
const mostQueries = 200
const mostTitles = 50

interface PageDay {
  readonly runDate: string
  readonly queryId: string
  readonly q: string
  readonly variant: string
  readonly position: number
  readonly title: string | null
  readonly search: number
}

/** A query's newest answer in a period. The page has ranked for the query. */
interface NewestAnswer {
  readonly queryId: string
  readonly runDate: string
  readonly search: number
  readonly depth: number
  /** Domain that now holds the page's old position. */
  readonly taker: string | null
}

/** Change in a page's position between the last known answers to a query on two days. */
interface PageMove extends PlaceMove {
  /** Domain that now holds the page's previous position; null if unknown, or if there was no such position. */
  readonly taker: string | null
}

/** Reads a page's figures, under all spellings of its URL. */
async function readFigures(db: Database, key: string, { span, compared }: DomainDays) {
  const within = { since: span.since, until: span.until }
  const between = { since: compared.since, until: compared.until }
  const found = { key, ...within, most: mostPageDays }
  const days = await readRows<PageDay>(db, 'read_page_days', found)
  const last = [...groupBy(days, ({ queryId }) => queryId).values()].flatMap((own) =>
    own.slice(0, 1),
  )
  const answers = await readRows<NewestAnswer>(db, 'read_newest_answers', {
    queries: last.map(({ queryId }) => queryId),
    positions: last.map(({ position }) => position),
    ...within,
  })
  const queries = queriesOf(days, answers)
  const titles = [...groupBy(days, ({ title }) => title)]
  return {
    positions: days.length,
    best: Math.min(...days.map(({ position }) => position)),
    queries: queries.slice(0, mostQueries),
    all: queries.length,
    gone: queries.filter((query) => query.gone).length,
    titles: titles.slice(0, mostTitles).map(([title, own]) => ({ title, ...seen(own) })),
    allTitles: titles.length,
    held: await readRows<DomainDay>(db, 'read_page_holdings', { key, ...within }),
    moves: await readRows<PageMove>(db, 'read_page_moves', { key, ...between }),
  }
}

function drawPage(found: PageFound, place: PagePlace): Html {
  const { page, held } = found
  return html`${tiles([
    ['queries with the page now', found.all - found.gone],
    ['queries that lost the page', found.gone],
    ['best position', found.best],
    ['titles', found.allTitles],
  ])}
  ${noteList(found.notes)} ${drawHoldings({ ...found, name: page.key, days: held }, place)}
  ${drawWonAndLost(found, place, [
    column.plain('Now at its position', ({ taker }) => toDomain(place, taker)),
  ])}
  ${drawPageQueries(found, place)}
  ${tableSection({ id: 'titles', title: 'Titles' }, found.titles, [
    column.text('Title', 'title'),
    ...seenColumns,
  ])}`
}

function drawPageQueries({ queries, all }: PageFound, place: PagePlace): Html {
  const now = ({ gone, last }: PageQuery) => (gone ? null : last.position)
  return tableSection(
    {
      id: 'queries',
      title: 'Queries',
      count: all,
      about:
        'A query has lost the page if its newest answer is deep enough to show the page but does not show it.',
    },
    queries,
    [
      column.plain('Query', ({ last }) => toVariant(place, last)),
      column.number('First', ({ first }) => first.position),
      column.number('Now', now),
      column.right('Move', (query) => moved(query.first.position, now(query))),
      column.number('Best', 'best'),
      column.number('Days', 'days'),
      column.word('Last seen', (query) => nights(query, place)),
      column.plain('Now at its position', ({ gone, newest }) =>
        gone ? toDomain(place, newest?.taker ?? null) : unknown,
      ),
    ],
  )
}

/** Links to the page's last night, and to a comparison with its first night or, for a lost page, the newest night. */
function nights({ queryId, first, last, newest, gone }: PageQuery, place: PagePlace): Html {
  const night = toNight(place, queryId, { day: last.runDate })
  const other = gone ? newest : first
  if (other === null || other.search === last.search) return night
  const [beside = '', day = ''] = [other.runDate, last.runDate].toSorted()
  const text = `compare with ${other.runDate}`
  return html`${night} · ${toNight(place, queryId, { day, beside, text })}`
}

type PageQuery = ReturnType<typeof queriesOf>[number]

/** Sorts a page's queries by position. Queries for which the page no longer ranks come last. */
function queriesOf(days: readonly PageDay[], answers: readonly NewestAnswer[]) {
  const byQuery = new Map(answers.map((answer) => [answer.queryId, answer]))
  const found = [...groupBy(days, ({ queryId }) => queryId)].flatMap(([queryId, own]) => {
    const [last, first] = [own[0], own.at(-1)]
    if (last === undefined || first === undefined) return []
    const best = Math.min(...own.map(({ position }) => position))
    const newest = byQuery.get(queryId) ?? null
    // True if the newest answer is deep enough to show the page's last position, but lacks the page.
    const gone = newest !== null && newest.runDate > last.runDate && newest.depth >= last.position
    return [{ queryId, days: own.length, best, first, last, newest, gone }]
  })
  return found.toSorted(
    (a, b) => Number(a.gone) - Number(b.gone) || a.last.position - b.last.position,
  )
}
