import { siteName } from '../../../../shared/hostname.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { nameVariants } from '../../../drawing/variants.ts'
import { definePage, type PagePlace } from '../../page.ts'
import {
  amount,
  given,
  instant,
  nothing,
  section,
  table,
  tiles,
  to,
} from '../../../drawing/parts.ts'
import { askedSpan, daysText } from '../choose.ts'
import { askedAs, nightPath, toList, toQuery } from '../ways.ts'
import { drawHistory } from './history.ts'
import { drawNights } from './nights.ts'
import { readQueryPage, type QueryFound } from './read.ts'
import { drawWords, resultTable } from './results.ts'

/** What happened to a query. */
export const queryPage = definePage({
  path: '/queries/:query',
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
      ${newest(found, place)} ${drawNights(found, place)}
      <div class="pair">${variants(found, place)} ${lists(found, place)}</div>`,
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
            text: `place of ${ours.domain}`,
          },
        ]),
    { value: amount(answered.size), text: `days answered, of ${asked.size} asked` },
    { value: amount(credits), text: 'credits in this time' },
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
      : html` · ${to(place.href(path, { beside: before.runDate }), `beside ${before.runDate}`)}`
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
      ? nothing('The same text asked for another device or place would be here.', null)
      : html`<ul class="lines">
          ${others.map(
            (one) => html`<li>${toQuery(place, one.queryId, names.get(one.queryId) ?? one.q)}</li>`,
          )}
        </ul>`
  return section({ id: 'variants', title: 'Asked otherwise' }, body)
}

function lists({ said }: QueryFound, place: PagePlace): Html {
  const about = html`What lists say about it now.`
  return section(
    { id: 'lists', title: 'Lists', about },
    table(
      'Lists that hold it',
      [
        {
          head: 'List',
          cell: ({ listId, list, current }) =>
            html`${toList(place, listId, list)}${current ? null : html` <span class="soft">not any more</span>`}`,
        },
        { head: 'Weight', number: true, cell: ({ weight }) => amount(weight) },
        { head: 'Labels', cell: ({ tags }) => given(tags.length === 0 ? null : tags.join(', ')) },
        { head: 'Page that ought to rank', cell: ({ target }) => given(target) },
        { head: 'Its line', cell: ({ given: line }) => given(line) },
      ],
      said,
    ),
  )
}
