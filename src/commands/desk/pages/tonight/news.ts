import type { AlertRow } from '../../../../store/operator/alerts.ts'
import type { NoticeRow } from '../../../../store/operator/notices.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { badge, command, given, instant, nothing, section, to } from '../../../drawing/parts.ts'
import { nightPath } from '../ways.ts'
import type { TonightFound } from './found.ts'

const states = { standing: 'warn', recovered: 'good', withdrawn: 'soft' } as const
const told = { told: 'good', waiting: 'warn', 'given up': 'bad' } as const

/** What moved against the rules, the newest first. */
export function drawAlerts({ alerts }: TonightFound, place: PagePlace): Html {
  return section(
    { id: 'alerts-now', title: 'Alerts' },
    alerts.length === 0
      ? nothing(
          'No alert so far. What moves against the rules shows here, with its evidence.',
          'npm run alerts -- rules',
        )
      : html`<ul class="news">
          ${alerts.map((alert) => alertLine(alert, place))}
        </ul>`,
  )
}

/** What the webhook was told, or is to be told, the newest first. */
export function drawNotices({ notices }: TonightFound, place: PagePlace): Html {
  return section(
    { id: 'notices-now', title: 'Notices' },
    notices.length === 0
      ? nothing(
          'Nothing was noted yet. Stops, runs that ended and nights that were missed show here, once MILL_WEBHOOK is set.',
          null,
        )
      : html`<ul class="news">
          ${notices.map((notice) => noticeLine(notice, place))}
        </ul>`,
  )
}

function alertLine(alert: AlertRow, { href }: PagePlace): Html {
  const { id, run_date: date, state, text, query_id: query, base_run_date: beside } = alert
  const nights =
    query === null ? null : html` · ${to(href(nightPath(query, date), { beside }), 'both nights')}`
  return html`<li>
    <p>${badge(state, states[state])} <span class="soft">${date}</span> ${given(text)}</p>
    <p class="soft">Evidence: ${command(`npm run alerts -- show ${id}`)}${nights}</p>
  </li>`
}

function noticeLine({ noted_at: at, state, text, problem }: NoticeRow, { zone }: PagePlace): Html {
  return html`<li>
    <p>
      ${badge(state, told[state])} <span class="soft">${instant(at, zone)}</span> ${given(text)}
    </p>
    ${problem === null ? null : html`<p class="bad">${given(problem)}</p>`}
  </li>`
}
