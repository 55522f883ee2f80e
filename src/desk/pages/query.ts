// The page of a query and its history.

import { siteName } from '../../base/address.ts'
import type { QueryDay } from '../../features/analysis/query-facts.ts'
import { type Html, html } from '../drawing/html.ts'
import {
  amount,
  badge,
  given,
  instant,
  nameVariants,
  nothing,
  section,
  table,
  tiles,
  to,
  unknown,
} from '../drawing/parts.ts'
import { definePage, type PagePlace } from '../page.ts'
import { askedSpan, daysText } from './choose.ts'
import { drawWords, resultTable } from './query-night.ts'
import { type QueryFound, readQueryPage } from './query-read.ts'
import { drawChanges } from './query-changes.ts'
import { drawHistory } from './rank-chart.ts'
import { askedAs, nightPath, toList, toQuery } from './ways.ts'

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
  const before = (day: QueryDay) =>
    days.find(
      ({ runDate, search }) => runDate < day.runDate && search !== null && search !== day.search,
    )
  return section(
    { id: 'nights', title: 'Nights, and what they cost' },
    table(
      'Nights of this query',
      [
        {
          head: 'Day',
          word: true,
          cell: ({ runDate, search }) =>
            search === null ? runDate : to(place.href(nightPath(query.id, runDate)), runDate),
        },
        {
          head: 'Changes',
          word: true,
          cell: (day) => {
            const other = before(day)
            if (day.search === null || other === undefined) return unknown
            const href = place.href(nightPath(query.id, day.runDate), { beside: other.runDate })
            return to(href, `since ${other.runDate}`)
          },
        },
        { head: 'Run', number: true, cell: ({ run }) => to(place.href(`/runs/${run}`), run) },
        { head: 'List', cell: ({ listId, list }) => toList(place, listId, list) },
        {
          head: 'State',
          word: true,
          cell: ({ state, errorCode }) =>
            html`${badge(state.replace('_', ' '), stateTones[state] ?? 'soft')} ${errorCode}`,
        },
        { head: 'Depth', number: true, cell: ({ depth }) => amount(depth) },
        { head: 'Calls', number: true, cell: ({ calls }) => amount(calls) },
        { head: 'Credits', number: true, cell: ({ credits }) => amount(credits) },
        { head: 'Answered', word: true, cell: ({ fetchedAt }) => instant(fetchedAt, place.zone) },
      ],
      days,
    ),
  )
}

/** The page of a query. */
export const queryPage = definePage({
  path: '/queries/:query',
  area: 'Keywords',
  ask: (address) => ({
    id: address.uuid('query'),
    span: askedSpan(address, { days: 90, most: 400 }),
    domains: address
      .texts('domain')
      .flatMap((typed) => typed.split(/[\s,]+/))
      .map(siteName)
      .filter((name) => name !== '')
      .slice(0, 6),
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

function summary({ days, ranks, shown, newest: last }: QueryFound, place: PagePlace): Html {
  const ours = shown.find((one) => one.ours)
  const now = ranks.find(
    ({ domain, runDate }) => domain === ours?.domain && runDate === last?.serp.runDate,
  )
  const credits = days.reduce((sum, day) => sum + day.credits, 0)
  const answered = new Set(days.filter(({ search }) => search !== null).map((day) => day.runDate))
  const asked = new Set(days.map((day) => day.runDate))
  return tiles([
    ...(ours === undefined || last === null
      ? []
      : [
          {
            value: now === undefined ? 'not in' : amount(now.position),
            text: `rank of ${ours.domain}`,
          },
        ]),
    { value: amount(answered.size), text: `days answered, of ${asked.size} asked` },
    { value: amount(credits), text: 'credits in this period' },
    { value: instant(last?.serp.fetchedAt ?? null, place.zone), text: 'newest answer' },
  ])
}

function newest({ query, newest: answer, days }: QueryFound, place: PagePlace): Html | null {
  if (answer === null) return null
  const { runDate, search } = answer.serp
  const before = days.find(
    (day) => day.search !== null && day.search !== search && day.runDate < runDate,
  )
  const path = nightPath(query.id, runDate)
  const beside =
    before === undefined
      ? null
      : html` ·
        ${to(place.href(path, { beside: before.runDate }), `compare with ${before.runDate}`)}`
  return section(
    {
      id: 'newest',
      title: html`The answer of ${runDate}`,
      about: html`${to(place.href(path), 'this night alone')}${beside}`,
    },
    html`${resultTable(answer.results.slice(0, 10), place)} ${drawWords(answer.words, place)}`,
  )
}

function variants({ query, variants: same }: QueryFound, place: PagePlace): Html {
  const names = nameVariants(same)
  const others = same.filter(({ queryId }) => queryId !== query.id)
  const body =
    others.length === 0
      ? nothing('The text is not asked for another device or place.', null)
      : html`<ul class="lines">
          ${others.map(
            (one) => html`<li>${toQuery(place, one.queryId, names.get(one.queryId) ?? one.q)}</li>`,
          )}
        </ul>`
  return section({ id: 'variants', title: 'Asked otherwise' }, body)
}

function drawLists({ said }: QueryFound, place: PagePlace): Html {
  const about = html`Its current settings in lists.`
  return section(
    { id: 'lists', title: 'Lists', about },
    table(
      'Lists that contain it',
      [
        {
          head: 'List',
          cell: ({ listId, list, current }) =>
            html`${toList(place, listId, list)}${current ? null : html` <span class="soft">no longer</span>`}`,
        },
        { head: 'Weight', number: true, cell: ({ weight }) => amount(weight) },
        { head: 'Labels', cell: ({ tags }) => given(tags.length === 0 ? null : tags.join(', ')) },
        { head: 'Target page', cell: ({ target }) => given(target) },
        { head: 'Its line', cell: ({ given: line }) => given(line) },
      ],
      said,
    ),
  )
}
