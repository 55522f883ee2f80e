import type { Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { amount, nothing, section, table } from '../../../drawing/parts.ts'
import { toDomain, toPage, toQuery } from '../ways.ts'
import type { DomainFound } from './read.ts'

/** Pages of a domain with the queries that show them. */
export function drawPages({ pages, span }: DomainFound, place: PagePlace): Html {
  return section(
    { id: place.id('pages'), title: 'Pages', about: `In the last known answers on ${span.until}.` },
    pages.length === 0
      ? nothing('Pages of the domain would be here; no answer of that day shows one.', null)
      : table(
          'Pages of the domain',
          [
            { head: 'Page', cell: ({ page, pageKey }) => toPage(place, page, pageKey) },
            { head: 'Queries', number: true, cell: ({ queries }) => amount(queries) },
            { head: 'Best place', number: true, cell: ({ best }) => amount(best) },
            { head: 'For', cell: ({ exampleId, example }) => toQuery(place, exampleId, example) },
          ],
          pages,
        ),
  )
}

/** Domains that stand in the same answers. */
export function drawRivals({ rivals, span }: DomainFound, place: PagePlace): Html {
  return section(
    { id: place.id('rivals'), title: 'Rivals', about: `In the same answers, on ${span.until}.` },
    rivals.length === 0
      ? nothing('Domains of the same answers would be here.', null)
      : table(
          'Domains of the same answers',
          [
            { head: 'Domain', cell: ({ domain }) => toDomain(place, domain, span) },
            { head: 'Shared', number: true, cell: ({ shared }) => amount(shared) },
            { head: 'Stands higher', number: true, cell: ({ ahead }) => amount(ahead) },
            { head: 'Best place', number: true, cell: ({ best }) => amount(best) },
          ],
          rivals,
        ),
  )
}
