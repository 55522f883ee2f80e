import { html, type Html } from '../../../drawing/html.ts'
import { describeLastNight, type NightSummary } from '../../../status/nights.ts'
import type { PagePlace } from '../../page.ts'
import { badge, given, instant, nothing, section, table, to } from '../../../drawing/parts.ts'
import type { TonightFound } from './found.ts'

/** What the schedules did last, and when they are due. */
export function drawDue({ summaries }: TonightFound, { href }: PagePlace): Html {
  const columns = [
    { head: 'schedule', cell: ({ schedule }: NightSummary) => given(schedule) },
    {
      head: 'last night',
      cell: ({ zone, last }: NightSummary) => given(describeLastNight(zone, last)),
    },
    { head: 'next', word: true as const, cell: nextOf },
    { head: 'overdue', cell: overdueOf },
  ]
  const body =
    summaries.length === 0
      ? nothing(
          'No schedule is on. Each would be a line here: its last night, and when it is due.',
          'npm run nightly',
        )
      : table('Schedules', columns, summaries)
  return section(
    { id: 'due-now', title: 'Schedules', about: to(href('/nights'), 'All nights') },
    body,
  )
}

function nextOf({ next, zone }: NightSummary): Html {
  return next === null
    ? html`never`
    : html`${instant(next, zone)} <span class="soft">${zone}</span>`
}

function overdueOf({ overdue, zone }: NightSummary): readonly Html[] | string {
  if (overdue.length === 0) return 'no'
  return overdue.map(
    ({ dueAt, problem }) =>
      html`<p>${badge('overdue', 'bad')} ${instant(dueAt, zone)}: ${given(problem)}</p>`,
  )
}
