import type { PageDay } from '../../../../store/analysis/page-days.ts'
import { html, type Html } from '../../../report/html.ts'
import { lineChart } from '../../../report/lines.ts'
import { groupBy } from '../../group.ts'
import type { PagePlace } from '../../page.ts'
import { amount, given, section, table, to, unknown } from '../../parts.ts'
import { moved, nightPath, toDomain, toQuery } from '../ways.ts'
import { isGone, type PageQuery, type PageTitle } from './history.ts'

/** For how many queries a page stands, day by day. */
export function drawStanding(key: string, days: readonly PageDay[]): Html | null {
  const byDay = [...groupBy(days, ({ runDate }) => runDate)].toReversed()
  if (byDay.length < 2) return null
  const title = `Queries that show ${key}, day by day`
  const points = (count: (own: readonly PageDay[]) => number) =>
    byDay.map(([runDate, own]) => ({ at: new Date(`${runDate}T00:00:00Z`), value: count(own) }))
  const most = Math.max(...byDay.map(([, own]) => own.length))
  const chart = lineChart({
    title,
    series: [
      { name: 'anywhere', points: points((own) => own.length) },
      {
        name: 'at 1 to 3',
        points: points((own) => own.filter(({ position }) => position <= 3).length),
      },
    ],
    grain: 'day',
    width: 1040,
    height: 200,
    range: [0, most * 1.05],
    format: String,
    ticks: [0, Math.ceil(most / 2), most],
    named: true,
    hover: true,
  })
  return section(
    {
      id: 'standing',
      title: 'Queries that show it',
      about: 'Days on which no answer shows it have no point.',
    },
    html`<div class="scroll wide" role="region" aria-label="${title}" tabindex="0">${chart}</div>`,
  )
}

/** Each query with the first and the last place of the page, and who stands there now that it is gone. */
export function drawPageQueries(queries: readonly PageQuery[], place: PagePlace): Html {
  const now = (query: PageQuery) => (isGone(query) ? null : query.last.position)
  return section(
    {
      id: 'queries',
      title: html`Queries (${amount(queries.length)})`,
      about: 'Gone is what the newest answer would have shown at its last place, and does not.',
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
          head: 'In its place',
          cell: (query) => (isGone(query) ? toDomain(place, query.newest?.taker ?? null) : unknown),
        },
      ],
      queries.slice(0, 200),
    ),
  )
}

/** The last night that shows the page, beside the newest one where it is gone, or the first one. */
function nights(query: PageQuery, place: PagePlace): Html {
  const { queryId, first, last, newest } = query
  const night = to(place.href(nightPath(queryId, last.runDate)), last.runDate)
  const other = isGone(query) ? newest : first
  if (other === null || other.search === last.search) return night
  const [early, late] = [other.runDate, last.runDate].toSorted()
  const beside = place.href(nightPath(queryId, late ?? ''), { beside: early ?? '' })
  return html`${night} · ${to(beside, `beside ${other.runDate}`)}`
}

/** What the page was called. */
export function drawTitles(titles: readonly PageTitle[]): Html {
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
