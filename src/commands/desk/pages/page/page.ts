import { mostPageDays } from '../../../../store/analysis/page-days.ts'
import { html, link } from '../../../drawing/html.ts'
import { noteList } from '../../../drawing/notes.ts'
import { definePage } from '../../page.ts'
import { amount, nothing, tiles } from '../../../drawing/parts.ts'
import { askedSpan, chooser, dayFields, daysText } from '../choose.ts'
import { toDomain } from '../ways.ts'
import { drawPageMoves, drawPageQueries, drawTitles } from './draw.ts'
import { drawHoldings } from '../domain/holdings.ts'
import { readPagePage } from './read.ts'
import { isGone, queriesOf, titlesOf } from './history.ts'

/** What happened to a page: for which queries it stands, since when, and who stands where it stood. */
export const onePage = definePage({
  path: '/pages/:page',
  ask: (address) => ({
    id: address.uuid('page'),
    span: askedSpan(address, { days: 30, most: 120 }),
  }),
  read: (reading, asked) => reading.answers((db) => readPagePage(db, asked)),
  show: (found, place) => {
    const { page, span, days, newest, held } = found
    const queries = queriesOf(days, newest)
    const gone = queries.filter(isGone)
    const standing = queries.length - gone.length
    const cut =
      days.length === mostPageDays ? ' More places than are read at once: the newest ones.' : ''
    return {
      title: page.key,
      lead: html`<bdi dir="auto">${link(page.url, page.url)}</bdi>, of
        ${toDomain(place, page.domain, span)}. ${daysText(span, place)}.${cut}`,
      body: html`${chooser({ place, name: 'Which days' }, dayFields(span))}
      ${
        days.length === 0
          ? nothing(
              'No answer of this time shows the page; its queries, places and titles would be here.',
              null,
            )
          : html`${tiles([
              { value: amount(standing), text: 'queries that show it now' },
              { value: amount(gone.length), text: 'queries that lost it' },
              {
                value: amount(Math.min(...days.map(({ position }) => position))),
                text: 'best place',
              },
              { value: amount(titlesOf(days).length), text: 'titles' },
            ])}
            ${noteList(found.notes)}
            ${drawHoldings({ name: page.key, days: held, notes: found.notes, suspect: found.suspect }, place)}
            ${drawPageMoves(found, place)} ${drawPageQueries(queries, place)}
            ${drawTitles(titlesOf(days))}`
      }`,
    }
  },
})
