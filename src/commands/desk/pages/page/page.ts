import {
  mostPageDays,
  readNewestAnswers,
  readPageDays,
  readPageFacts,
  type NewestAnswer,
  type PageDay,
  type PageFacts,
} from '../../../../store/analysis/page-days.ts'
import { readSpan, type ReadSpan } from '../../../../store/analysis/span.ts'
import { NotThere } from '../../address.ts'
import { groupBy } from '../../group.ts'
import { html, link } from '../../../report/html.ts'
import { definePage } from '../../page.ts'
import { amount, nothing, tiles } from '../../parts.ts'
import { askedSpan, chooser, dayFields, daysText } from '../choose.ts'
import { toDomain } from '../ways.ts'
import { drawPageQueries, drawStanding, drawTitles } from './draw.ts'
import { isGone, queriesOf, titlesOf } from './history.ts'

export interface PageFound {
  readonly page: PageFacts
  readonly span: ReadSpan
  readonly days: readonly PageDay[]
  readonly newest: readonly NewestAnswer[]
}

/** What happened to a page: for which queries it stands, since when, and who stands where it stood. */
export const onePage = definePage({
  path: '/pages/:page',
  ask: (address) => ({
    id: address.uuid('page'),
    span: askedSpan(address, { days: 30, most: 120 }),
  }),
  read: (reading, asked) =>
    reading.answers(async (db): Promise<PageFound> => {
      const page = await readPageFacts(db, asked.id)
      if (page === null) throw new NotThere('There is no such page in any answer.')
      const span = await readSpan(db, asked.span)
      const days = await readPageDays(db, { key: page.key, ...span })
      const last = [...groupBy(days, ({ queryId }) => queryId).values()].flatMap((own) =>
        own.slice(0, 1),
      )
      return { page, span, days, newest: await readNewestAnswers(db, last, span) }
    }),
  show: ({ page, span, days, newest }, place) => {
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
            ${drawStanding(page.key, days)} ${drawPageQueries(queries, place)}
            ${drawTitles(titlesOf(days))}`
      }`,
    }
  },
})
