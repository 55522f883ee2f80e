// The page of a query and its history.

import { type Html, html } from '../drawing/html.ts'
import { badge, instant, lines, nothing, section, tiles, unknown } from '../drawing/parts.ts'
import { column, tableSection } from '../drawing/tables.ts'
import { definePage, type PagePlace } from '../page.ts'
import { askedDomains, askedSpan, daysText } from './choose.ts'
import { drawWords, resultTable } from './query-night.ts'
import { type QueryFound, readQueryPage } from './query-read.ts'
import { drawChanges } from './query-changes.ts'
import { drawHistory } from './rank-chart.ts'
import { askedAs, nameVariants, toList, toNight, toQuery, toRun } from './ways.ts'

/** The page of a query. */
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

const stateTones: Readonly<Record<string, 'good' | 'bad' | 'warn' | 'soft'>> = {
  answered: 'good',
  reused: 'good',
  not_asked: 'soft',
  failed: 'bad',
  unknown: 'warn',
  unaffordable: 'warn',
}

/** All runs that included the query: outcome and cost. */
function drawNights({ query, days }: QueryFound, place: PagePlace): Html | null {
  if (days.length === 0) return null
  return tableSection(
    { id: 'nights', title: 'Nights, and what they cost', name: 'Nights of this query' },
    days,
    [
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
    ],
  )
}

/** The previous day with a different answer; null if there is none. */
function dayBefore(
  days: QueryFound['days'],
  { runDate, search }: { readonly runDate: string; readonly search: number },
): string | null {
  const before = days.find(
    (day) => day.runDate < runDate && day.search !== null && day.search !== search,
  )
  return before?.runDate ?? null
}

function summary({ days, ranks, shown, newest: last }: QueryFound, place: PagePlace): Html {
  const ours = shown.find((one) => one.ours)
  const now = ranks.find(
    ({ domain, runDate }) => domain === ours?.domain && runDate === last?.serp.runDate,
  )
  const credits = days.reduce((sum, day) => sum + day.credits, 0)
  const answered = new Set(days.filter(({ search }) => search !== null).map((day) => day.runDate))
  const asked = new Set(days.map((day) => day.runDate))
  const rank = [`rank of ${ours?.domain}`, now?.position ?? 'not in'] as const
  return tiles([
    ...(ours === undefined || last === null ? [] : [rank]),
    [`days answered, of ${asked.size} asked`, answered.size],
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
  const compared =
    beside === null ? null : html` · ${toNight(place, query.id, { day, beside, text })}`
  return section(
    { id: 'newest', title: html`The answer of ${day}`, about: html`${alone}${compared}` },
    html`${resultTable(answer.results.slice(0, 10), place)} ${drawWords(answer.words, place)}`,
  )
}

function variants({ query, variants: same }: QueryFound, place: PagePlace): Html {
  const names = nameVariants(same)
  const others = same.filter(({ queryId }) => queryId !== query.id)
  return section(
    { id: 'variants', title: 'Asked otherwise' },
    others.length === 0
      ? nothing('The text is not asked for another device or place.')
      : lines(others.map(({ queryId, q }) => toQuery(place, queryId, names.get(queryId) ?? q))),
  )
}

function drawLists({ said }: QueryFound, place: PagePlace): Html {
  return tableSection(
    {
      id: 'lists',
      title: 'Lists',
      about: 'Its current settings in lists.',
      name: 'Lists that contain it',
    },
    said,
    [
      column.plain(
        'List',
        ({ listId, list, current }) =>
          html`${toList(place, listId, list)}${current ? null : html` <span class="soft">no longer</span>`}`,
      ),
      column.number('Weight', 'weight'),
      column.text('Labels', ({ tags }) => tags.join(', ') || null),
      column.text('Target page', 'target'),
      column.text('Its line', 'given'),
    ],
  )
}
