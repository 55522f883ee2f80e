import type { CreditOutlook } from '../../../../credits/foresee.ts'
import type { Config } from '../../../../shared/config.ts'
import type { Database } from '../../../../store/database.ts'
import { readEvents } from '../../../../store/analysis/statement.ts'
import {
  readCosts,
  readPursePoints,
  readPurses,
  type SpentRow,
  type AccountPurse,
  type PursePoint,
  type ZonedSpan,
} from '../../../../store/operator/money.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { nameRises, type NamedEvent } from '../../../statement/lines.ts'
import { dayAfter, type DaySpan } from '../../address.ts'
import { definePage, type DeskReading, type PagePlace } from '../../page.ts'
import { amount, given, nothing, section, table } from '../../../drawing/parts.ts'
import { chooser, dayFields } from '../choose.ts'
import { drawBalance } from './balance.ts'
import { drawOutlook } from './outlook.ts'

/** What was spent and what is left. */
export interface PurseFound {
  readonly purses: readonly AccountPurse[]
  readonly points: readonly PursePoint[]
  readonly costs: readonly SpentRow[]
  /** Null: too many calls for a look. */
  readonly events: readonly NamedEvent[] | null
}

interface MoneyFound extends PurseFound {
  readonly outlook: CreditOutlook | null
}

const usualDays = 31

/** What was spent, what is left, and what is to come. */
export const money = definePage({
  path: '/money',
  nav: 'Money',
  ask: (address, today) => address.span({ today, days: usualDays }),
  read: readMoney,
  show: (found, place, span) => ({
    title: 'Money',
    plain: true,
    lead: html`Credits from ${span.since} to ${span.until}, days in ${place.zone}, by when calls
    ended.`,
    body: html`${chooser({ place, name: 'Which days' }, dayFields(span))}
    ${drawBalances(found, place, span)} ${drawOutlook(found.outlook, place)} ${drawCosts(found)}`,
  }),
})

async function readMoney(reading: DeskReading, span: DaySpan): Promise<MoneyFound> {
  const zoned = { ...span, zone: reading.config.zone }
  const outlook = await reading.outlook()
  const events = await reading.briefly((db) => readRises(db, zoned, reading.config))
  return reading.books(async (db) => ({ ...(await readPurseFound(db, zoned)), events, outlook }))
}

/** What no call of ours surely explains, in some days. */
export async function readRises(
  db: Database,
  { since, until, zone }: ZonedSpan,
  config: Pick<Config, 'renewal' | 'zone'>,
): Promise<readonly NamedEvent[]> {
  const order = { account: null, since, until: dayAfter(until), zone }
  return nameRises(await readEvents(db, order), config)
}

/** The accounts, their balances and the costs of some days. */
export async function readPurseFound(
  db: Database,
  span: ZonedSpan,
): Promise<Omit<PurseFound, 'events'>> {
  return {
    purses: await readPurses(db, span),
    points: await readPursePoints(db, span),
    costs: await readCosts(db, span),
  }
}

/** What was spent for each list, and for calls of each kind. */
export function drawCosts({ costs: all }: PurseFound): Html {
  return html`<div class="pair">
    ${costs(
      { id: 'lists', title: 'Cost by list', head: 'list' },
      all.filter(({ by }) => by === 'list'),
    )}
    ${costs(
      { id: 'classes', title: 'Cost by kind of call', head: 'results / device' },
      all.filter(({ by }) => by === 'class'),
    )}
  </div>`
}

/** Every account with its balance over time. */
export function drawBalances(
  { purses, points, events }: PurseFound,
  place: PagePlace,
  span: DaySpan,
): Html {
  if (purses.length === 0) {
    const text =
      'No account was used yet. Its balance over time would be a picture here, with its floor, top-ups and renewals.'
    return section({ id: 'balance', title: 'Balance' }, nothing(text, 'npm run work -- --drain'))
  }
  return html`${purses.map((purse) =>
    drawBalance(
      {
        purse,
        points: points.filter((point) => point.account_id === purse.id),
        events: events?.filter(({ account }) => account === purse.account) ?? null,
        span,
      },
      place,
    ),
  )}`
}

function costs(
  { id, title, head }: { id: string; title: string; head: string },
  rows: readonly SpentRow[],
): Html {
  const number = true as const
  const columns = [
    { head, cell: ({ name }: SpentRow) => given(name) },
    { head: 'calls', number, cell: ({ calls }: SpentRow) => amount(calls) },
    { head: 'credits', number, cell: ({ credits }: SpentRow) => amount(credits) },
    { head: 'readable answers', number, cell: ({ answers }: SpentRow) => amount(answers) },
    {
      head: 'credits an answer',
      number,
      cell: ({ credits, answers }: SpentRow) => amount(answers === 0 ? null : credits / answers),
    },
    { head: 'paid in vain', number, cell: ({ lost }: SpentRow) => amount(lost) },
    { head: 'perhaps, untold', number, cell: ({ perhaps }: SpentRow) => amount(perhaps) },
    { head: 'dearest call', number, cell: ({ dearest }: SpentRow) => amount(dearest) },
  ]
  return section(
    { id, title },
    rows.length === 0
      ? nothing('No call ended in this time.', 'npm run status')
      : table(title, columns, rows),
  )
}
