import {
  readStatement,
  type Grouping,
  type StatementRow,
} from '../../../../store/analysis/statement.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { nameRises, type NamedEvent } from '../../../statement/lines.ts'
import { dayAfter, type DaySpan } from '../../address.ts'
import { definePage, type PagePlace } from '../../page.ts'
import {
  amount,
  command,
  given,
  instant,
  nothing,
  section,
  table,
  to,
} from '../../../drawing/parts.ts'
import { chooser, dayFields } from '../choose.ts'

interface StatementAsked {
  readonly span: DaySpan
  readonly account: string | null
  readonly by: Grouping
}

interface StatementFound {
  readonly sums: readonly StatementRow[]
  readonly events: readonly NamedEvent[]
}

const usualDays = 31
const mostEvents = 200
const groupings = ['day', 'list', 'run'] as const

/** Every change of the balance, explained. */
export const statementPage = definePage({
  path: '/money/statement',
  ask: (address, today): StatementAsked => ({
    span: address.span({ today, days: usualDays }),
    account: address.text('account'),
    by: address.word('by', groupings),
  }),
  read: (reading, { span, account, by }) =>
    reading.books(async (db): Promise<StatementFound> => {
      const order = {
        account,
        since: span.since,
        until: dayAfter(span.until),
        zone: reading.config.zone,
      }
      const read = await readStatement(db, order, by)
      return { ...read, events: nameRises(read.events, reading.config) }
    }),
  show: (found, place, asked) => ({
    title: asked.account === null ? 'Statement' : `Statement of ${asked.account}`,
    plain: true,
    lead: html`From ${asked.span.since} to ${asked.span.until}, days in ${place.zone}; each change
    of the balance is ours, perhaps ours, somebody else's, or a top-up.`,
    body: html`${chooser({ place, name: 'Which days', keep: ['account', 'by'] }, dayFields(asked.span))}
    ${choices(asked, place)} ${sums(found, asked)} ${events(found, place)}`,
  }),
})

function choices({ by, account, span }: StatementAsked, { href }: PagePlace): Html {
  return html`<p>
    Told by
    ${groupings.map((one) =>
      one === by
        ? html` <strong>${one}</strong>`
        : html` ${to(href('/money/statement', { account, by: one, ...span }), one)}`,
    )}.
    On paper: ${command(`npm run statement -- --by ${by}`)}
  </p>`
}

function sums({ sums: rows }: StatementFound, { by }: StatementAsked): Html {
  if (rows.length === 0) {
    const text = 'No balance was told in this time: a statement begins with the first answer.'
    return section({ id: 'sums', title: 'Changes' }, nothing(text, 'npm run statement'))
  }
  const number = true as const
  const balance = [
    { head: 'opening', number, cell: (row: StatementRow) => amount(row.opening) },
    { head: 'closing', number, cell: (row: StatementRow) => amount(row.closing) },
  ] as const
  const columns = [
    { head: 'account', cell: (row: StatementRow) => given(row.account) },
    {
      head: by,
      cell: (row: StatementRow) => given(row.group === '' ? 'no call of ours' : row.group),
    },
    ...(by === 'day' ? [balance[0]] : []),
    { head: 'ours', number, cell: (row: StatementRow) => amount(row.ours) },
    { head: 'perhaps ours', number, cell: (row: StatementRow) => amount(row.perhaps_ours) },
    { head: 'others', number, cell: (row: StatementRow) => amount(row.others) },
    { head: 'added', number, cell: (row: StatementRow) => amount(row.top_up) },
    ...(by === 'day' ? [balance[1]] : []),
  ]
  return section({ id: 'sums', title: 'Changes' }, table('Changes of the balance', columns, rows))
}

function events({ events: all }: StatementFound, { zone }: PagePlace): Html | null {
  if (all.length === 0) return null
  const rows = all.slice(-mostEvents).toReversed()
  const number = true as const
  const word = true as const
  const columns = [
    { head: 'seen', word, cell: ({ at }: NamedEvent) => instant(at, zone) },
    { head: 'what', word, cell: ({ what }: NamedEvent) => what },
    { head: 'credits', number, cell: ({ credits }: NamedEvent) => amount(credits) },
    { head: 'balance', number, cell: ({ balance }: NamedEvent) => amount(balance) },
    { head: 'of run', number, cell: ({ run_id: run }: NamedEvent) => amount(run) },
    { head: 'account', cell: ({ account }: NamedEvent) => given(account) },
  ]
  const about =
    all.length > mostEvents ? { about: `The newest ${mostEvents} of ${all.length}.` } : {}
  return section(
    { id: 'events', title: 'What no call of ours surely explains', ...about },
    table('Events', columns, rows),
  )
}
