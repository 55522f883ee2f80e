import { siteName } from '../../../../shared/hostname.ts'
import { html } from '../../../drawing/html.ts'
import { noteList } from '../../../drawing/notes.ts'
import { definePage } from '../../page.ts'
import { askedSpan, chooser, dayFields, daysText } from '../choose.ts'
import { drawHoldings } from './holdings.ts'
import { drawMoves } from './moves.ts'
import { readDomainPage } from './read.ts'
import { drawPages, drawRivals } from './rivals.ts'

/** What happened to a domain: what it holds, what it won and lost, to whom. */
export const domainPage = definePage({
  path: '/domains/:domain',
  ask: (address) => ({
    domain: siteName(address.part('domain')),
    span: askedSpan(address, { days: 30, most: 120 }),
  }),
  read: (reading, asked) => reading.answers((db) => readDomainPage(db, asked)),
  show: (found, place) => ({
    title: found.known.domain,
    lead: html`${found.known.label === null ? null : html`Ours: ${found.known.label}. `}From
    ${daysText(found.span, place)}.`,
    body: html`${chooser({ place, name: 'Which days' }, dayFields(found.span))}
      ${noteList(found.notes)} ${drawHoldings({ ...found, name: found.known.domain }, place)}
      ${drawMoves(found, place)}
      <div class="pair">${drawPages(found, place)} ${drawRivals(found, place)}</div>`,
  }),
})
