import type { DomainMove } from '../../../../store/analysis/domain-moves.ts'
import { html, type Html } from '../../../report/html.ts'
import type { PagePlace } from '../../page.ts'
import { amount, nothing, section, table, to } from '../../parts.ts'
import { moved, nightPath, toDomain, toQuery } from '../ways.ts'
import { clicks } from './change.ts'
import type { DomainFound } from './read.ts'

const shown = 15

/** What a domain won and lost between two days, and who took it. */
export function drawMoves({ compared, moves, flows, known }: DomainFound, place: PagePlace): Html {
  const won = moves.filter((move) => (move.position ?? Infinity) < (move.previous ?? Infinity))
  const lost = moves.filter((move) => !won.includes(move))
  const two = `Between the last known answers on ${compared.since} and on ${compared.until}.`
  const part = (id: string, title: string, found: readonly DomainMove[]) =>
    section(
      { id, title: html`${title} (${amount(found.length)})`, about: two },
      found.length === 0
        ? nothing('Nothing between these days.', null)
        : moveTable(`${title}, query by query`, found, place),
    )
  const taken = section(
    {
      id: 'taken',
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
  return html`<div class="pair">${part('won', 'Won', won)} ${part('lost', 'Lost', lost)}</div>
    ${taken}`
}

function moveTable(name: string, moves: readonly DomainMove[], place: PagePlace): Html {
  return table(
    name,
    [
      {
        head: 'Query',
        cell: ({ queryId, q, variant }) =>
          html`${toQuery(place, queryId, q)}${variant === '' ? null : html` <span class="soft">${variant}</span>`}`,
      },
      { head: 'Before', number: true, cell: ({ previous }) => amount(previous) },
      { head: 'Now', number: true, cell: ({ position }) => amount(position) },
      { head: 'Move', number: true, cell: ({ previous, position }) => moved(previous, position) },
      { head: 'Clicks', number: true, cell: ({ clicks: value }) => clicks(value) },
      {
        head: 'Both nights',
        word: true,
        cell: ({ queryId, runDate, previousDate }) =>
          to(place.href(nightPath(queryId, runDate), { beside: previousDate }), 'side by side'),
      },
    ],
    moves.slice(0, shown),
  )
}
