import type { LiveWorker } from '../../../../store/operator/crew.ts'
import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import {
  command,
  given,
  instant,
  nothing,
  section,
  table,
  unknown,
} from '../../../drawing/parts.ts'
import type { TonightFound } from './found.ts'

/** Who works, and with how many calls on their way. */
export function drawCrew({ crew, account }: TonightFound, { zone }: PagePlace): Html {
  const uncertain = account?.uncertain ?? 0
  const held =
    uncertain === 0
      ? null
      : html`<p>
          ${uncertain} credits are held for calls whose end nobody could read:
          ${command('npm run status -- --unknown')}
        </p>`
  const number = true as const
  const columns = [
    { head: 'worker', number, cell: (row: LiveWorker) => row.worker },
    {
      head: 'machine',
      cell: (row: LiveWorker) =>
        html`${given(row.host)} <span class="soft">process ${row.pid}</span>`,
    },
    {
      head: 'since',
      word: true as const,
      cell: (row: LiveWorker) => instant(row.started_at, zone),
    },
    {
      head: 'in flight',
      number,
      cell: (row: LiveWorker) => html`${row.in_flight} of ${row.lanes}`,
    },
    {
      head: 'oldest',
      number,
      cell: (row: LiveWorker) => (row.oldest_s === null ? unknown : html`${row.oldest_s} s`),
    },
  ]
  const body =
    crew.length === 0
      ? nothing(
          'No worker is alive. Each would be a line here, with its calls on their way.',
          'npm run work',
        )
      : table('Workers', columns, crew)
  return section({ id: 'crew-now', title: 'Workers' }, html`${body}${held}`)
}
