import type { PlaceMove } from '../../../../store/analysis/domain-moves.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { amount, nothing, section, table, to, type Column } from '../../../drawing/parts.ts'
import { moved, nightPath, toDomain, toQuery } from '../ways.ts'
import { clicks } from '../../../drawing/change.ts'
import type { ReadSpan } from '../../../../store/analysis/span.ts'
import type { DomainFound } from './read.ts'

const shown = 15

/** What a domain won and lost between two days, and who took it. */
export function drawMoves({ compared, moves, flows, known }: DomainFound, place: PagePlace): Html {
  if (compared.since >= compared.until) {
    return section(
      { id: place.id('moves'), title: 'Won and lost' },
      nothing(
        'No day before has answers to compare with: moves show from the second one on.',
        null,
      ),
    )
  }
  const taken = section(
    {
      id: place.id('taken'),
      title: 'Who took it',
      about: `Clicks by the curve and the weights of queries. What ${known.domain} lost for a query is divided among those that gained there.`,
    },
    flows.length === 0
      ? nothing('Nothing was taken and nothing won between these days.', null)
      : table(
          'Domains that took or gave',
          [
            {
              head: 'Domain',
              cell: ({ domain }) =>
                domain === null
                  ? html`<span class="none">nobody known</span>`
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

/** Queries that were won beside those that were lost, with further columns for the lost ones. */
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
        ? nothing('Nothing between these days.', null)
        : table(
            `${title}, query by query`,
            [...moveColumns(place), ...(id === 'lost' ? more : [])],
            found.slice(0, shown),
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
