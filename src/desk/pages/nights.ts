// The Nights page: a calendar for each list, and the newest runs.

import { npmRun } from '../../base/cli/commands.ts'
import { groupBy } from '../../base/query.ts'
import { dayOf } from '../../base/time/zone.ts'
import { type CalendarEntry, readCalendar } from '../../core/nights/nights.ts'
import { element, type Html, html } from '../drawing/html.ts'
import {
  amount,
  badge,
  given,
  nothing,
  section,
  to,
  uncertainNote,
  unknown,
} from '../drawing/parts.ts'
import { column, tableSection } from '../drawing/tables.ts'
import { definePage, type PagePlace } from '../page.ts'
import { dayChooser } from './choose.ts'
import { toRun } from './ways.ts'

function legend(entries: readonly CalendarEntry[]): Html {
  const counted = groupBy(entries, (entry) => healthOf(entry).verdict)
  return html`<ul class="legend">
    ${Object.entries(verdicts).map(([name, { sign, text }]) => {
      const nights = counted.get(name as NightVerdict)?.length ?? 0
      return nights === 0
        ? null
        : html`<li><span class="day ${name}">${sign}</span> ${text}: ${nights}</li>`
    })}
  </ul>`
}

const monthName = new Intl.DateTimeFormat('en-GB', {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

function drawMonth(month: string, entries: readonly CalendarEntry[], place: PagePlace): Html {
  const first = dayOf(`${month}-01`)
  const length = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate()
  const byDay = groupBy(entries, ({ run_date: day }) => Number(day.slice(8)))
  const days = Array.from({ length }, (_, index) => index + 1)
  return html`<div class="month">
    <h3>${monthName.format(first)}</h3>
    <ol class="days">
      ${days.map((day) => drawDay(day, byDay.get(day) ?? [], place))}
    </ol>
  </div>`
}

export function drawDay(day: number, entries: readonly CalendarEntry[], { href }: PagePlace): Html {
  const worst = entries.toSorted((a, b) => rank(b) - rank(a))[0]
  if (worst === undefined) return html`<li><span class="day nothing-then">${day}</span></li>`
  const { verdict, words } = healthOf(worst)
  const more = entries.length === 1 ? '' : `; ${entries.length} runs`
  const label = `${worst.run_date}: ${words}${more}`
  const face = html`<span aria-hidden="true">${day}<b>${verdicts[verdict].sign}</b></span
    ><span class="unseen">${label}</span>`
  const way = worst.run === null ? null : href(`/runs/${worst.run}`)
  return html`<li>
    ${element(way === null ? 'span' : 'a', { class: `day ${verdict}`, title: label, href: way }, face)}
  </li>`
}

function rank(entry: CalendarEntry): number {
  return Object.keys(verdicts).indexOf(healthOf(entry).verdict)
}

/** Outcomes of a night, best first. */
const verdicts = {
  fine: { sign: '✓', text: 'done', tone: 'good' },
  odd: { sign: '?', text: 'odd, but shown (price, duration or a lasting change)', tone: 'warn' },
  going: { sign: '…', text: 'in progress', tone: 'warn' },
  skipped: { sign: '–', text: 'skipped because another run was in progress', tone: 'soft' },
  suspect: { sign: '!', text: 'suspect, left out of shares and trends', tone: 'warn' },
  lost: { sign: '×', text: 'missed, failed or cancelled', tone: 'bad' },
} as const

type NightVerdict = keyof typeof verdicts

function healthOf(entry: CalendarEntry): { verdict: NightVerdict; words: string } {
  const { run, state, outcome, suspect, reasons, asked, answered, note } = entry
  const counts = asked === null ? '' : `, ${answered ?? 0} of ${asked} answered`
  if (run === null) {
    const verdict = outcome === 'skipped' ? 'skipped' : outcome === 'waiting' ? 'going' : 'lost'
    return { verdict, words: `${outcome ?? 'no run'}${note === null ? '' : `: ${note}`}` }
  }
  if (suspect) return { verdict: 'suspect', words: `suspect${counts}: ${reasons.join('; ')}` }
  if (state === 'cancelled') return { verdict: 'lost', words: `cancelled${counts}` }
  if (state !== 'done') return { verdict: 'going', words: state }
  const done = `done${counts}${outcome === 'late' ? ', late' : ''}`
  return reasons.length === 0
    ? { verdict: 'fine', words: done }
    : { verdict: 'odd', words: `${done}; odd: ${reasons.join('; ')}` }
}

const usualDays = 92
export const mostEntries = 5_000
const listed = 60

export const nightsPage = definePage({
  path: '/nights',
  area: 'Operations',
  nav: 'Nights',
  ask: (address, today) => address.span({ today, days: usualDays }),
  read: (reading, span) => reading.books((db) => readCalendar(db, { ...span, limit: mostEntries })),
  show: (entries, place, span) => ({
    title: 'Nights',
    plain: true,
    lead: html`All runs, and all nights without a run, from ${span.since} to ${span.until}. For the
    savings of lists with an adaptive cadence, see ${to(place.href('/cadence'), 'Asking less')}.`,
    body: html`${dayChooser(place, span)} ${drawCalendar(entries, place)}
    ${entries.length < mostEntries ? null : html`<p class="warn">Only the newest ${mostEntries} nights are shown; choose a shorter period to see all.</p>`}`,
  }),
})

export function drawCalendar(entries: readonly CalendarEntry[], place: PagePlace): Html {
  if (entries.length === 0) {
    return nothing(
      'There are no runs on these days. Each night will be shown here as a square, coloured by outcome and linked to its page.',
      `${npmRun('nightly --')} --show`,
    )
  }
  const calendars = [...groupBy(entries, ({ list }) => list)].map(([list, found], index) => {
    const months = [...groupBy(found, ({ run_date: day }) => day.slice(0, 7))]
    return section(
      { id: `list-${index}`, title: given(list) },
      months.map(([month, days]) => drawMonth(month, days, place)),
    )
  })
  return html`${legend(entries)} ${calendars} ${newest(entries, place)}`
}

function newest(entries: readonly CalendarEntry[], place: PagePlace): Html {
  return tableSection(
    {
      id: 'newest',
      title: 'The newest nights',
      about: entries.length > listed ? `The newest ${listed} of ${entries.length}.` : null,
    },
    entries.slice(0, listed),
    [
      column.word('date', 'run_date'),
      column.text('list', 'list'),
      column.right('run', ({ run }) => (run === null ? unknown : toRun(place, run))),
      column.word('outcome', outcomeBadge),
      column.right('answered', ({ asked, answered }) =>
        asked === null ? unknown : html`${amount(answered)} of ${amount(asked)}`,
      ),
      column.right('credits', (row) => html`${amount(row.spent)}${uncertainNote(row)}`),
      column.text('remarks', ({ reasons, note }) => reasons.join('; ') || (note ?? '')),
    ],
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
