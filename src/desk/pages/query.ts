// The page for a query: its rank chart, the changes between its answers, and its nights.

import { npmRun } from '../../base/cli/commands.ts'
import { count } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { groupBy } from '../../base/query.ts'
import { dayOf } from '../../base/time/zone.ts'
import { readNotesBetween } from '../../features/analysis/notes.ts'
import { type AskedSpan, readSpan } from '../../features/analysis/span.ts'
import { type Html, html } from '../drawing/html.ts'
import { drawPicture } from '../drawing/lines.ts'
import {
  amount,
  badge,
  given,
  instant,
  lines,
  nothing,
  section,
  tiles,
  unknown,
} from '../drawing/parts.ts'
import { column, type Column, table, tableSection } from '../drawing/tables.ts'
import { definePage, type PagePlace } from '../page.ts'
import { askedDomains, askedSpan, chooser, dayFields, daysText, textField } from './choose.ts'
import { newestReading } from './lists.ts'
import { drawWords, expectQuery, readNightAnswer, resultTable } from './query-night.ts'
import {
  askedAs,
  nameVariants,
  readVariants,
  seen,
  seenColumns,
  toDomain,
  toList,
  toNight,
  toPage,
  toQuery,
  toRun,
} from './ways.ts'

export const queryPage = definePage({
  path: '/queries/:query',
  area: 'Keywords',
  ask: (address) => ({
    id: address.uuid('query'),
    span: askedSpan(address, { days: 90, most: 400 }),
    domains: askedDomains(address).slice(0, 6),
  }),
  read: (reading, asked) => reading.answers((db) => readQueryPage(db, asked)),
  show: (found, place, asked) => ({
    title: found.query.q,
    lead: html`Asked as ${askedAs(found.query)}. ${daysText(found.span, place)}.`,
    body: html`${summary(found, place)} ${drawHistory(found, place, asked.domains)}
      ${drawChanges(found, place)} ${newest(found, place)} ${drawNights(found, place)}
      <div class="pair">${variants(found, place)} ${drawLists(found, place)}</div>`,
  }),
})

type QueryFound = Awaited<ReturnType<typeof readQueryPage>>

const mostShown = 6
const firstResults = { places: 20, most: 60 }

async function readQueryPage(
  db: Database,
  asked: { id: string; span: AskedSpan; domains: readonly string[] },
) {
  const query = await expectQuery(db, asked.id)
  const span = await readSpan(db, asked.span)
  const within = { query: query.id, since: span.since, until: span.until }
  const days = await readRows<QueryDay>(db, 'read_query_days', within)
  const last = days.find(({ search }) => search !== null)
  const newestAnswer = { search: last?.search ?? null, day: span.until }
  // The domains that are ours, and then the highest-ranking domains in the newest answer.
  type Interesting = { readonly domain: string; readonly ours: boolean }
  const interesting = await readRows<Interesting>(db, 'read_interesting_domains', newestAnswer)
  const ours = new Set(interesting.filter((one) => one.ours).map(({ domain }) => domain))
  // Requested domains come first, then our own domains, then the highest-ranking domains.
  const all = new Set([...asked.domains, ...interesting.map(({ domain }) => domain)])
  const domains = [...all].slice(0, mostShown)
  return {
    query,
    span,
    days,
    newest: last === undefined ? null : await readNightAnswer(db, query.id, last.runDate),
    shown: domains.map((domain) => ({ domain, ours: ours.has(domain) })),
    said: await readSaidOf(db, query.id),
    variants: await readVariants(db, [query.q]),
    ranks: await readRows<DayRank>(db, 'read_day_ranks', { ...within, domains }),
    notes: await readNotesBetween(db, span),
    first: await readRows<ShownResult>(db, 'read_query_pages', { ...within, ...firstResults }),
  }
}

interface QueryDay {
  readonly runDate: string
  readonly run: number
  readonly listId: number
  readonly list: string
  readonly state: string
  readonly errorCode: string | null
  /** The day's readable answer, or null if no answer is shown. */
  readonly search: number | null
  /** Reason why no answer is shown: `suspect`, `unreadable`, `archived`, `hidden` (by origin), or the task's state. */
  readonly silence: string | null
  readonly depth: number | null
  readonly evidence: string | null
  readonly fetchedAt: Date | null
  readonly calls: number
  readonly credits: number
}

/** A domain's best position on a day. Days without a row have no answer, or an answer without the domain. */
interface DayRank {
  readonly runDate: string
  readonly domain: string
  readonly position: number
}

/** One of the top results in a purchased answer. The page is null if the result names no page. */
export interface ShownResult {
  readonly runDate: string
  readonly depth: number | null
  readonly features: readonly string[]
  readonly page: string | null
  readonly pageKey: string | null
  readonly domain: string | null
  readonly title: string | null
  readonly position: number | null
}

function readSaidOf(db: Database, query: string) {
  return db
    .selectFrom('list_queries')
    .innerJoin('lists', 'lists.id', 'list_queries.list_id')
    .select(['lists.id as listId', 'lists.name as list', 'list_queries.weight'])
    .select(['list_queries.priority', 'list_queries.tags', 'list_queries.given'])
    .select('list_queries.target_url as target')
    .select((eb) =>
      eb('list_queries.last_seen', '=', newestReading(eb.ref('lists.id')))
        .$castTo<boolean>()
        .as('current'),
    )
    .where('list_queries.query_id', '=', query)
    .orderBy('current', 'desc')
    .orderBy('lists.name')
    .execute()
}

const stateTones: Readonly<Record<string, 'good' | 'bad' | 'warn' | 'soft'>> = {
  answered: 'good',
  reused: 'good',
  not_asked: 'soft',
  failed: 'bad',
  unknown: 'warn',
  unaffordable: 'warn',
}

function drawNights({ query, days }: QueryFound, place: PagePlace): Html | null {
  if (days.length === 0) return null
  return tableSection({ id: 'nights', title: 'Nights and their costs' }, days, [
    column.word('Day', ({ runDate: day, search }) =>
      search === null ? day : toNight(place, query.id, { day }),
    ),
    column.word('Changes', ({ runDate: day, search }) => {
      const beside = search === null ? null : dayBefore(days, { runDate: day, search })
      if (beside === null) return unknown
      return toNight(place, query.id, { day, beside, text: `since ${beside}` })
    }),
    column.right('Run', ({ run }) => toRun(place, run)),
    column.plain('List', ({ listId, list }) => toList(place, listId, list)),
    column.word(
      'State',
      ({ state, errorCode }) =>
        html`${badge(state.replace('_', ' '), stateTones[state] ?? 'soft')} ${errorCode}`,
    ),
    column.number('Depth', 'depth'),
    column.number('Calls', 'calls'),
    column.number('Credits', 'credits'),
    column.word('Answered', ({ fetchedAt }) => instant(fetchedAt, place.zone)),
  ])
}

function dayBefore(days: QueryFound['days'], now: { runDate: string; search: number | null }) {
  const isOther = (search: number | null) => search !== null && search !== now.search
  return days.find((day) => day.runDate < now.runDate && isOther(day.search))?.runDate ?? null
}

function summary({ days, ranks, shown, newest: last }: QueryFound, place: PagePlace): Html {
  const ours = shown.find((one) => one.ours)
  const now = ranks.find(
    ({ domain, runDate }) => domain === ours?.domain && runDate === last?.serp.runDate,
  )
  const credits = days.reduce((sum, day) => sum + day.credits, 0)
  const answered = new Set(days.filter(({ search }) => search !== null).map((day) => day.runDate))
  const asked = new Set(days.map((day) => day.runDate))
  const rank = [`rank of ${ours?.domain}`, now?.position ?? 'not ranked'] as const
  return tiles([
    ...(ours === undefined || last === null ? [] : [rank]),
    [`days with an answer (of ${asked.size} asked)`, answered.size],
    ['credits in this period', credits],
    ['newest answer', instant(last?.serp.fetchedAt ?? null, place.zone)],
  ])
}

function newest({ query, newest: answer, days }: QueryFound, place: PagePlace): Html | null {
  if (answer === null) return null
  const day = answer.serp.runDate
  const beside = dayBefore(days, answer.serp)
  const alone = toNight(place, query.id, { day, text: 'this night alone' })
  const text = `compare with ${beside}`
  const both = html`${alone} · ${toNight(place, query.id, { day, beside, text })}`
  return section(
    {
      id: 'newest',
      title: `The answer from ${day}`,
      about: beside === null ? alone : both,
    },
    html`${resultTable(answer.results.slice(0, 10), place)} ${drawWords(answer.words, place)}`,
  )
}

function variants({ query, variants: same }: QueryFound, place: PagePlace): Html {
  const names = nameVariants(same)
  const others = same.filter(({ queryId }) => queryId !== query.id)
  return section(
    { id: 'variants', title: 'Other variants of the query' },
    others.length === 0
      ? nothing('There are no queries with this text for other devices or places.')
      : lines(others.map(({ queryId, q }) => toQuery(place, queryId, names.get(queryId) ?? q))),
  )
}

function drawLists({ said }: QueryFound, place: PagePlace): Html {
  return tableSection(
    {
      id: 'lists',
      title: 'Lists',
      about: 'Current settings of the query in its lists.',
    },
    said,
    [
      column.plain(
        'List',
        ({ listId, list, current }) =>
          html`${toList(place, listId, list)}${current ? null : html` <span class="soft">no longer in the list</span>`}`,
      ),
      column.number('Weight', 'weight'),
      column.text('Tags', ({ tags }) => tags.join(', ') || null),
      column.text('Target page', 'target'),
      column.text('Line in the file', 'given'),
    ],
  )
}

type ChartDay = ReturnType<typeof chartDays>[number]

/** A query's days, oldest first. Each day has `evidence` or, if no answer is shown, the reason (`silence`). */
function chartDays({ days, shown, ranks }: QueryFound) {
  const positions = new Map(ranks.map((one) => [`${one.runDate} ${one.domain}`, one.position]))
  const byDay = [...groupBy(days, ({ runDate }) => runDate).values()].toReversed()
  return byDay.flatMap((runs) => {
    const day = runs.find(({ silence }) => silence === null) ?? runs[0]
    if (day === undefined) return []
    const { runDate, evidence, silence, depth } = day
    const told = silence === null ? null : (silences[silence] ?? 'asked, but not answered')
    const places = shown.map(({ domain }) => positions.get(`${runDate} ${domain}`))
    return [{ at: dayOf(runDate), runDate, evidence, silence: told, depth, places }]
  })
}

const silences: Readonly<Record<string, string>> = {
  suspect: 'answered; left out because the night is suspect',
  unreadable: 'answered, but not readable',
  hidden: 'answered; answers from this origin are not shown',
  archived: 'answered; the answer is in the archive',
  open: 'not answered yet',
  unaffordable: 'not asked: the budget was used up',
  cancelled: 'not asked: the run was cancelled',
}

/** Position 1 is at the top, and days without the domain are at the bottom. Days without an answer appear as gaps. */
function rankChart(found: QueryFound, days: readonly ChartDay[]) {
  const { query, shown, ranks, notes } = found
  const deepest = Math.max(10, ...ranks.map(({ position }) => position))
  const out = deepest * 1.12 + 0.5
  return drawPicture(
    {
      title: `Positions for ${query.q}, day by day`,
      ...{ height: 340, spots: true },
      range: [out, 0.5],
      ticks: [1, ...[3, 5, 10, 20, 50, 100].filter((tick) => tick <= deepest), out],
      format: (position) => (position === out ? 'not in' : String(position)),
      notes,
      gaps: days.flatMap(({ at, runDate, silence }) =>
        silence === null ? [] : [{ at, name: `${runDate}: ${silence}` }],
      ),
      series: shown.map(({ domain }, nth) => ({
        name: domain,
        points: days.map((day) => ({
          at: day.at,
          value: day.evidence === null ? null : (day.places[nth] ?? out),
          words: placeWords(day, day.places[nth]),
          hollow: day.evidence !== 'bought',
        })),
      })),
    },
    { name: 'Rank history, as a chart', figures: figureRows(found, days) },
  )
}

function placeWords({ evidence, depth }: ChartDay, position: number | undefined): string {
  const place = position === undefined ? `not in the top ${depth ?? 0}` : `position ${position}`
  if (evidence === 'bought') return place
  return `${place}, ${evidence === 'not asked' ? 'not asked, so the last answer is used' : 'reused from an older answer'}`
}

function drawHistory(found: QueryFound, place: PagePlace, asked: readonly string[]): Html {
  const days = chartDays(found)
  const form = chooser({ place, name: 'What the history shows' }, [
    ...dayFields(found.span),
    textField('domain', 'Other domains', { value: asked.join(' '), placeholder: 'example.com' }),
  ])
  const body =
    days.length === 0
      ? nothing('The query was not asked in this period.', npmRun('enqueue inputs/keywords.csv'))
      : html`${legend(found, place)} ${rankChart(found, days)} ${numbers(found, days, place)}`
  return section(
    {
      id: 'history',
      title: 'Rank history',
      about:
        'Position 1 is at the top. A hollow point marks a reused answer. A dotted line marks a day without an answer (hover over the line to see the reason). "not in" marks an answer without the domain.',
    },
    html`${form} ${body}`,
  )
}

/** Builds the table rows, in which each day without an answer has a reason instead of positions. */
function figureRows({ shown }: QueryFound, days: readonly ChartDay[]) {
  const rows = days.map(({ runDate, evidence, silence, places }) =>
    silence === null
      ? [runDate, evidence, ...places]
      : [runDate, silence, ...places.map(() => null)],
  )
  return [['day', 'answer', ...shown.map(({ domain }) => domain)], ...rows]
}

function legend({ shown, span }: QueryFound, place: PagePlace): Html {
  return html`<ul class="legend">
    ${shown.map(
      ({ domain, ours }, index) =>
        html`<li class="c${index % 8}">
          <svg viewBox="0 0 18 10" aria-hidden="true"><path d="M0 5H18" /></svg>
          ${toDomain(place, domain, span)}${ours ? html` <span class="soft">ours</span>` : null}
        </li>`,
    )}
  </ul>`
}

function numbers({ query, shown, notes }: QueryFound, days: readonly ChartDay[], place: PagePlace) {
  const none = html`<span class="none">no answer</span>`
  return html`<details id="numbers">
    <summary>In numbers${notes.length === 0 ? null : ', with the notes'}</summary>
    ${table('Positions day by day', days.toReversed(), [
      column.word('Day', ({ runDate }) => toNight(place, query.id, { day: runDate })),
      column.word('Answer', ({ evidence, silence }) => silence ?? evidence),
      ...shown.map(({ domain }, nth) =>
        column.right(domain, ({ places, silence }: ChartDay) =>
          silence === null ? amount(places[nth] ?? null) : none,
        ),
      ),
    ])}
    ${
      notes.length === 0
        ? null
        : html`<ol class="notes">
            ${notes.map(({ date, text }) => html`<li>${date}: ${given(text)}</li>`)}
          </ol>`
    }
  </details>`
}

function answerDays(first: readonly ShownResult[]) {
  return [...groupBy(first, ({ runDate }) => runDate)].map(([runDate, results]) => ({
    runDate,
    depth: results[0]?.depth ?? 0,
    features: results[0]?.features ?? [],
    results,
  }))
}

export function lostRanks(first: readonly ShownResult[], domains: readonly string[]) {
  const days = answerDays(first)
  return days.flatMap((now, index) => {
    const before = days[index + 1]
    if (before === undefined) return []
    return domains.flatMap((domain) => {
      const [previous = null, rank = null] = [before, now].map(
        ({ results }) => results.find((result) => result.domain === domain)?.position,
      )
      if (previous === null || (rank ?? now.depth + 1) <= previous) return []
      // The domain that is now at the old position.
      const taker = now.results.find(({ position }) => position === previous)?.domain ?? null
      const { runDate: previousDate } = before
      return [{ runDate: now.runDate, previousDate, domain, previous, rank, taker }]
    })
  })
}

const mostRows = 20

function drawChanges({ query, first, shown }: QueryFound, place: PagePlace): Html {
  const ours = shown.filter((one) => one.ours).map(({ domain }) => domain)
  const days = answerDays(first)
  const pages = pagesOf(first, ours)
  const titles = pages.flatMap((one) => (one.titles.length > 1 ? one.titles : []))
  const shownFeatures = days.flatMap(({ runDate, features: own }) =>
    own.map((name) => ({ name, runDate })),
  )
  const features = [...groupBy(shownFeatures, ({ name }) => name)].map(([name, own]) => {
    return { name, ...seen(own) }
  })
  const about = `Based on the first results of the newest ${count(days.length, 'answer')}.`
  const draw = <Row>(
    heading: { id: string; title: string },
    rows: readonly Row[],
    columns: readonly Column<Row>[],
  ) =>
    rows.length === 0 ? null : tableSection({ ...heading, about }, rows.slice(0, mostRows), columns)
  return html`${draw(
    { id: 'lost', title: 'Lost ranks and who took them' },
    lostRanks(first, ours),
    [
      column.word('Night', ({ runDate: day, previousDate: beside }) =>
        toNight(place, query.id, { day, beside }),
      ),
      column.plain('Taken by', ({ taker }) => toDomain(place, taker)),
      column.number('Before', 'previous'),
      column.right('Now', ({ rank }) => (rank === null ? 'not ranked' : amount(rank))),
      column.plain('Lost by', ({ domain }) => toDomain(place, domain)),
    ],
  )}
  ${draw({ id: 'seen', title: 'When pages were first and last seen' }, pages, [
    column.plain('Page', ({ page, pageKey }) => toPage(place, page, pageKey)),
    column.number('Best', 'best'),
    ...seenColumns,
  ])}
  ${draw({ id: 'retitled', title: 'Changed titles' }, titles, [
    column.text('Title', 'title'),
    column.plain('Page', ({ page, pageKey }) => toPage(place, page, pageKey)),
    ...seenColumns,
  ])}
  ${draw({ id: 'features', title: 'SERP features over time' }, features, [
    column.plain('Feature', ({ name }) => name.replaceAll('_', ' ')),
    ...seenColumns,
  ])}`
}

/** Pages in the results, our own pages first. Each group begins with the most recently seen pages. */
function pagesOf(first: readonly ShownResult[], ours: readonly string[]) {
  const isOurs = ({ domain }: { domain: string | null }) => Number(ours.includes(domain ?? ''))
  return [...groupBy(first, ({ pageKey }) => pageKey)]
    .flatMap(([pageKey, own]) => {
      const [latest] = own
      if (pageKey === null || latest === undefined) return []
      const { page, domain } = latest
      const titles = [...groupBy(own, ({ title }) => title)].map(([title, named]) => {
        return { page, pageKey, title, ...seen(named) }
      })
      const best = Math.min(...own.flatMap(({ position }) => position ?? []))
      return [{ page, pageKey, domain, best, titles, ...seen(own) }]
    })
    .toSorted((a, b) => isOurs(b) - isOurs(a))
}
