import { readCalendar, type CalendarEntry } from '../../../../store/operator/calendar.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { definePage, type PagePlace } from '../../page.ts'
import { amount, badge, given, nothing, section, table, to } from '../../../drawing/parts.ts'
import { chooser, dayFields } from '../choose.ts'
import { drawCalendars, legend } from './calendar.ts'
import { healthOf, verdicts } from './verdict.ts'

const usualDays = 92
/** How many runs and nights are shown at most. */
export const mostEntries = 5_000
const listed = 60

/** How the nights went: a calendar of every list, and the newest ones in words. */
export const nights = definePage({
  path: '/nights',
  nav: 'Nights',
  ask: (address, today) => address.span({ today, days: usualDays }),
  read: (reading, span) => reading.books((db) => readCalendar(db, { ...span, limit: mostEntries })),
  show: (entries, place, span) => ({
    title: 'Nights',
    plain: true,
    lead: html`Every run and every night without one, by its date, from ${span.since} to
    ${span.until}. What lists save that do not ask every query every night:
    ${to(place.href('/cadence'), 'asking less')}.`,
    body: html`${chooser({ place, name: 'Which days' }, dayFields(span))}
    ${drawCalendar(entries, place)}
    ${entries.length < mostEntries ? null : html`<p class="warn">Only the newest ${mostEntries} are shown: choose a shorter span.</p>`}`,
  }),
})

/** A calendar of every list, and the newest nights in words. */
export function drawCalendar(entries: readonly CalendarEntry[], place: PagePlace): Html {
  if (entries.length === 0) {
    return nothing(
      'No run of these days. Each night is a square here, coloured by what became of it, and a page of its own.',
      'npm run nightly -- --show',
    )
  }
  return html`${legend(entries)} ${drawCalendars(entries, place)} ${newest(entries, place)}`
}

function newest(entries: readonly CalendarEntry[], { href }: PagePlace): Html {
  const number = true as const
  const word = true as const
  const columns = [
    { head: 'date', word, cell: (row: CalendarEntry) => row.run_date },
    { head: 'list', cell: (row: CalendarEntry) => given(row.list) },
    {
      head: 'run',
      number,
      cell: (row: CalendarEntry) =>
        row.run === null ? amount(null) : to(href(`/runs/${row.run}`), row.run),
    },
    { head: 'outcome', word, cell: (row: CalendarEntry) => outcomeBadge(row) },
    { head: 'answered', number, cell: (row: CalendarEntry) => answeredOf(row) },
    { head: 'credits', number, cell: (row: CalendarEntry) => amount(row.spent) },
    {
      head: 'what is odd',
      cell: (row: CalendarEntry) =>
        given(row.reasons.length > 0 ? row.reasons.join('; ') : (row.note ?? '')),
    },
  ]
  const about =
    entries.length > listed ? { about: `The newest ${listed} of ${entries.length}.` } : {}
  return section(
    { id: 'newest', title: 'The newest nights', ...about },
    table('Nights', columns, entries.slice(0, listed)),
  )
}

function outcomeBadge(entry: CalendarEntry): Html {
  const { verdict } = healthOf(entry)
  const { sign, tone } = verdicts[verdict]
  return badge(
    `${sign} ${entry.run === null ? (entry.outcome ?? '') : verdict === 'suspect' || verdict === 'odd' ? verdict : entry.state}`,
    tone,
  )
}

function answeredOf({ asked, answered }: CalendarEntry): Html {
  return asked === null ? amount(null) : html`${amount(answered)} of ${amount(asked)}`
}
