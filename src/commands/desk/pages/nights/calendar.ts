import { dayOf } from '../../../../shared/time/zone.ts'
import type { CalendarEntry } from '../../../../store/operator/calendar.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { groupBy } from '../../../../shared/group.ts'
import { given, section } from '../../../drawing/parts.ts'
import { healthOf, verdicts, type NightVerdict } from './verdict.ts'

/** A calendar for each list: months below each other, a square for each day. */
export function drawCalendars(entries: readonly CalendarEntry[], place: PagePlace): Html {
  const lists = groupBy(entries, ({ list }) => list)
  return html`${[...lists].map(([list, found], index) =>
    section(
      { id: `list-${index}`, title: given(list) },
      html`${[...groupBy(found, ({ run_date: day }) => day.slice(0, 7))].map(([month, days]) =>
        drawMonth(month, days, place),
      )}`,
    ),
  )}`
}

/** What the colours and signs mean. */
export function legend(entries: readonly CalendarEntry[]): Html {
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

function drawDay(day: number, entries: readonly CalendarEntry[], { href }: PagePlace): Html {
  const worst = entries.toSorted((a, b) => rank(b) - rank(a))[0]
  if (worst === undefined) return html`<li><span class="day nothing-then">${day}</span></li>`
  const { verdict, words } = healthOf(worst)
  const more = entries.length === 1 ? '' : `; ${entries.length} runs`
  const label = `${worst.run_date}: ${words}${more}`
  const { sign } = verdicts[verdict]
  const face = html`<span aria-hidden="true">${day}<b>${sign}</b></span
    ><span class="unseen">${label}</span>`
  const way = worst.run === null ? null : href(`/runs/${worst.run}`)
  return way === null
    ? html`<li><span class="day ${verdict}" title="${label}">${face}</span></li>`
    : html`<li>
        <a class="day ${verdict}" title="${label}" href="${way}">${face}</a>
      </li>`
}

function rank(entry: CalendarEntry): number {
  return Object.keys(verdicts).indexOf(healthOf(entry).verdict)
}
