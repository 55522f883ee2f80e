// The morning summary: the overview as a message for a webhook or a mail program.

import { npmRun } from '../../base/cli/commands.ts'
import { randomUUID } from 'node:crypto'
import type { Config } from '../../base/config.ts'
import { Misuse } from '../../base/errors.ts'
import { post, refusalOf } from '../../features/notifications/webhook.ts'
import { html, numberText } from '../drawing/html.ts'
import {
  creditsOf,
  groupAlerts,
  overviewLead,
  type OverviewFound,
  tasksOf,
} from '../pages/overview.ts'

type Summary = ReturnType<typeof summarise>

const most = { tasks: 8, gains: 4, alerts: 6 }

export function summarise(found: OverviewFound, place: { today: string; zone: string }) {
  const tasks = tasksOf(found, place)
  const { nights } = creditsOf(found)
  const balance = found.state.account?.remaining ?? null
  const lasts = nights === null ? '' : `, about ${numberText(nights)} nights until the floor`
  const lines = [
    ...(tasks.length === 0 ? [{ text: 'No action needed.', path: '/' }] : []),
    ...tasks.slice(0, most.tasks).map(({ text, line, path = '/operations' }) => {
      return { text: line === undefined ? text : `${text} (${line})`, path }
    }),
    ...standingLines(found),
    ...groupAlerts(found.alerts)
      .slice(0, most.alerts)
      .map(({ date, text }) => ({ text: `Alerts on ${date}: ${text}`, path: '/' })),
  ]
  if (balance !== null)
    lines.push({ text: `Credits left: ${numberText(balance)}${lasts}`, path: '/money' })
  return { subject: `querymill ${overviewLead(found)}`, lines }
}

function standingLines({ standing }: OverviewFound) {
  if (standing === null) return []
  const { counts, days, week, won, lost } = standing
  const changes = `/keywords?day=${days.now.day}&change=`
  const place = (rank: number | null) => rank ?? 'none'
  const counted = (name: 'up' | 'down' | 'entered' | 'left', text: string) => ({
    text: `${text}: ${numberText(counts.day[name])} since ${days.before.day}, ${numberText(counts.week[name])} since ${week.before.day}`,
    path: `${changes}${name}`,
  })
  return [
    counted('up', 'Keywords up'),
    counted('down', 'Keywords down'),
    counted('entered', 'Entered the results'),
    counted('left', 'Left the results'),
    ...Object.entries({ Won: won, Lost: lost }).flatMap(([word, { keywords }]) =>
      keywords.slice(0, most.gains).map(({ id, name, previous, rank }) => ({
        text: `${word}: ${name ?? ''}, rank ${place(previous)} → ${place(rank)}`,
        path: `/queries/${id ?? ''}`,
      })),
    ),
  ]
}

const link = (desk: string, path: string) => `${desk.replace(/\/$/, '')}${path}`

/** Renders the summary without style sheets or scripts, as mail programs require. */
export function renderSummary({ subject, lines }: Summary, desk: string): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${subject}</title>
      </head>
      <body style="font: 16px/1.5 sans-serif; max-width: 40em; margin: 1em auto; padding: 0 1em">
        <h1 style="font-size: 20px">${subject}</h1>
        <ul style="padding-left: 1.2em">
          ${lines.map(({ text, path }) => html`<li><a href="${link(desk, path)}">${text}</a></li>`)}
        </ul>
        <p><a href="${link(desk, '/')}">Open the overview</a></p>
      </body>
    </html> `.text
}

export async function sendSummary(
  { subject, lines }: Summary,
  { webhook, desk }: { webhook: Config['webhook']; desk: string },
): Promise<void> {
  if (webhook === null) {
    throw new Misuse(
      '--send needs MILL_WEBHOOK, which is not set; set it to the address of the webhook',
    )
  }
  const posted = await post(webhook, {
    id: randomUUID(),
    kind: 'morning_summary',
    text: [subject, ...lines.map(({ text }) => `• ${text}`), link(desk, '/')].join('\n'),
    at: new Date().toISOString(),
    fields: { subject, lines: lines.map(({ text, path }) => ({ text, url: link(desk, path) })) },
  })
  if (!posted.ok)
    throw new Misuse(
      `${refusalOf(posted)}; to test only the webhook, run ${npmRun('notify --')} --test`,
    )
}
