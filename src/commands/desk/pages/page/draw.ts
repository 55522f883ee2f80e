import type { PageMove } from '../../../../store/analysis/page-moves.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { amount, given, section, table, to, unknown } from '../../../drawing/parts.ts'
import { moved, nightPath, toDomain, toQuery } from '../ways.ts'
import { drawWonAndLost } from '../domain/moves.ts'
import type { PageFound } from './read.ts'
import { isGone, type PageQuery, type PageTitle } from './history.ts'

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

/** What a page won and lost between two days, and who stands now where it stood. */
export function drawPageMoves(
  { compared, moves }: Pick<PageFound, 'compared' | 'moves'>,
  place: PagePlace,
): Html {
  const taker = { head: 'In its place', cell: (move: PageMove) => toDomain(place, move.taker) }
  return drawWonAndLost({ compared, moves }, place, [taker])
}
