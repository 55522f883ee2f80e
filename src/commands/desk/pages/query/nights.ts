import type { QueryDay } from '../../../../store/analysis/query-days.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import {
  amount,
  badge,
  given,
  instant,
  section,
  table,
  to,
  unknown,
} from '../../../drawing/parts.ts'
import { nightPath, toList } from '../ways.ts'
import type { QueryFound } from './read.ts'

const stateTones: Readonly<Record<string, 'good' | 'bad' | 'warn' | 'soft'>> = {
  answered: 'good',
  reused: 'good',
  not_asked: 'soft',
  failed: 'bad',
  unknown: 'warn',
  unaffordable: 'warn',
}

/** Every run that asked the query: what became of it, and what it cost. */
export function drawNights({ query, days }: QueryFound, place: PagePlace): Html | null {
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
          cell: ({ state, errorCode, lentBy }) =>
            html`${badge(state.replace('_', ' '), stateTones[state] ?? 'soft')} ${errorCode}
            ${lentBy === null ? null : html`lent by ${given(lentBy)}`}`,
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
