// The Money page: credits spent and left.

import { npmRun } from '../../base/cli/commands.ts'
import type { Config } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import type { ForecastStep } from '../../core/forecast/forecast.ts'
import { type CreditForecast, forecastSentences } from '../../core/forecast/foresee.ts'
import {
  type AccountSpending,
  readCosts,
  readBalancePoints,
  readAccountSpending,
  type ZonedSpan,
} from '../../core/ledger/money.ts'
import { readEvents, readStatement } from '../../core/ledger/statement.ts'
import { type NamedEvent, nameRises } from '../../core/runs/statement.ts'
import type { DaySpan } from '../../base/time/zone.ts'
import { dayAfter } from '../address.ts'
import { type Html, html, numberText, shortNumber } from '../drawing/html.ts'
import { drawPicture } from '../drawing/lines.ts'
import {
  command,
  figure,
  given,
  instant,
  lines,
  nothing,
  section,
  tiles,
  to,
} from '../drawing/parts.ts'
import { column, table, tableSection } from '../drawing/tables.ts'
import { definePage, type DeskReading, type PagePlace } from '../page.ts'
import { dayChooser } from './choose.ts'

const usualDays = 31

export const money = definePage({
  path: '/money',
  area: 'Operations',
  nav: 'Money',
  ask: (address, today) => address.span({ today, days: usualDays }),
  read: readMoney,
  show: (found, place, span) => ({
    title: 'Money',
    plain: true,
    lead: html`Credits from ${span.since} to ${span.until}, days in ${place.zone}, counted when
    calls ended.`,
    body: html`${dayChooser(place, span)} ${drawBalances(found, place, span)}
    ${drawForecast(found.forecast, place)} ${drawCosts(found)}`,
  }),
})

async function readMoney(reading: DeskReading, span: DaySpan) {
  const zoned = { ...span, zone: reading.config.zone }
  const forecast = await reading.forecast()
  // The events are null if reading the calls takes too long.
  const events = await reading.briefly((db) => readRises(db, zoned, reading.config))
  const accounts = await reading.books((db) => readAccountsFound(db, zoned))
  return { ...accounts, events, forecast }
}

/** Reads the balance changes on the given days that can't be attributed to our own calls with certainty. */
export async function readRises(
  db: Database,
  { since, until, zone }: ZonedSpan,
  config: Pick<Config, 'renewal' | 'zone'>,
): Promise<readonly NamedEvent[]> {
  const order = { account: null, since, until: dayAfter(until), zone }
  return nameRises(await readEvents(db, order), config)
}

export async function readAccountsFound(db: Database, span: ZonedSpan) {
  return {
    accounts: await readAccountSpending(db, span),
    points: await readBalancePoints(db, span),
    costs: await readCosts(db, span),
  }
}

type AccountsFound = Awaited<ReturnType<typeof readAccountsFound>> & {
  readonly events: readonly NamedEvent[] | null
}

export function drawCosts({ costs }: Pick<AccountsFound, 'costs'>): Html {
  const part = (by: 'list' | 'class', titles: { id: string; title: string }, head: string) =>
    tableSection(
      { ...titles, empty: ['No calls ended in this period.', npmRun('status')] },
      costs.filter((row) => row.by === by),
      [
        column.text(head, 'name'),
        column.number('calls', 'calls'),
        column.number('credits', 'credits'),
        column.number('readable answers', 'answers'),
        column.number('credits per answer', ({ credits, answers }) =>
          answers === 0 ? null : credits / answers,
        ),
        column.number('spent without an answer', 'lost'),
        column.number('possibly charged', 'perhaps'),
        column.number('most expensive call', 'dearest'),
      ],
    )
  return html`${part('list', { id: 'lists', title: 'Cost by list' }, 'list')}
  ${part('class', { id: 'classes', title: 'Cost by price class' }, 'results / device')}`
}

export function drawBalances(
  found: Omit<AccountsFound, 'costs'>,
  place: PagePlace,
  span: DaySpan,
): Html {
  const { accounts, points, events } = found
  if (accounts.length > 0) {
    return html`${accounts.map((account) => {
      const ownPoints = points.filter((point) => point.account_id === account.id)
      const ownEvents = events?.filter((event) => event.account === account.account) ?? null
      return drawBalance({ account, points: ownPoints, events: ownEvents, span }, place)
    })}`
  }
  const text =
    'No account has been used yet. This chart will show balances over time, with the floor, top-ups and renewals.'
  return section({ id: 'balance', title: 'Balance' }, nothing(text, `${npmRun('work --')} --drain`))
}

interface BalanceFound extends Pick<AccountsFound, 'points' | 'events'> {
  readonly account: AccountSpending
  readonly span: DaySpan
}

function drawBalance(found: BalanceFound, place: PagePlace): Html {
  const { account, events, span } = found
  const name = account.account
  const told = (events ?? []).filter(({ what }) => what !== 'perhaps ours')
  const sum = (...names: readonly string[]) =>
    events?.reduce((all, { what, credits }) => all + (names.includes(what) ? credits : 0), 0) ??
    null
  const external = sum('external spend')
  const statement = place.href('/money/statement', { account: name, ...span })
  return section(
    {
      id: `account-${account.id}`,
      title: html`Balance of ${given(name)}`,
      about: html`${account.origin} account; the balance was reported
      ${instant(account.observed_at, place.zone)}.`,
    },
    html`${tiles([
      ['credits left', figure(`${name}.remaining`, account.remaining)],
      ['credit floor', account.floor],
      ['used by our calls in this period', figure(`${name}.used`, account.used)],
      ['added by top-ups and renewals', sum('top-up', 'renewal')],
      ['external spend', external === null ? null : Math.abs(external)],
    ])}
    ${picture(found)}
    ${told.length === 0 ? null : lines(told.slice(-8).map((event) => happened(event, place)))}
    ${statement === null ? null : html`<p>${to(statement, 'Statement that explains every change')}</p>`}`,
  )
}

function happened({ what, at, credits, balance }: NamedEvent, { zone }: PagePlace): Html {
  const sum = `${credits > 0 ? '+' : '−'} ${numberText(Math.abs(credits))}`
  return html`${instant(at, zone)}: ${what} ${sum}, balance ${numberText(balance)}`
}

const creditPicture = { grain: 'instant', hover: true, width: 1040, format: tickText } as const

function picture({ account, points, events }: BalanceFound): Html {
  if (points.length < 2)
    return html`<p class="soft">
      Fewer than two balances were reported in this period, so there is no line to draw.
    </p>`
  const values = points.map(({ remaining }) => remaining)
  const { floor, account: name } = account
  const greatest = Math.max(...values, floor ?? 0)
  const least = Math.min(...values)
  // On an axis that starts at 0, a balance that hardly changed would look flat.
  const flat = floor === null && least > greatest / 2
  const from = flat ? least - (greatest - least) * 0.1 - 1 : 0
  return html`${drawPicture({
    title: `Balance of ${name} over time`,
    series: [{ name, points: points.map(({ at, remaining }) => ({ at, value: remaining })) }],
    events: (events ?? [])
      .filter(({ what }) => what === 'top-up' || what === 'renewal')
      .map(({ at, what, credits }) => ({ at, name: `${what}: ${numberText(credits)} credits` })),
    height: 230,
    range: [from, greatest > from ? greatest : from + 1],
    ...creditPicture,
    ...(floor === null ? {} : { mark: floorMark(floor) }),
  })}
  ${from > 0 ? html`<p class="soft">The scale does not start at zero.</p>` : null}`
}

const floorMark = (floor: number) => ({ value: floor, name: `floor ${numberText(floor)}` })

const mostEvents = 200
const groupings = ['day', 'list', 'run'] as const

export const statementPage = definePage({
  path: '/money/statement',
  area: 'Operations',
  ask: (address, today) => ({
    span: address.span({ today, days: usualDays }),
    account: address.text('account'),
    by: address.word('by', groupings),
  }),
  read: ({ books, config }, { span: { since, until }, account, by }) =>
    books(async (db) => {
      const order = { account, since, until: dayAfter(until), zone: config.zone }
      const { sums, events } = await readStatement(db, order, by)
      return { sums, events: nameRises(events, config) }
    }),
  show: ({ sums, events }, place, { span, account, by }) => ({
    title: account === null ? 'Statement' : `Statement of ${account}`,
    plain: true,
    lead: html`From ${span.since} to ${span.until}, in the time zone ${place.zone}. Each change in
    the balance comes from our calls, possibly from our calls, from external spend or from a top-up.`,
    body: html`${dayChooser(place, span, ['account', 'by'])}
      <p>
        Grouped by
        ${groupings.map((one) => {
          const href = place.href('/money/statement', { account, by: one, ...span })
          return html` ${one === by ? html`<strong>${one}</strong>` : to(href, one)}`
        })}.
        In a terminal: ${command(`${npmRun('statement --')} --by ${by}`)}
      </p>
      ${tableSection(
        {
          id: 'sums',
          title: 'Changes',
          empty: [
            'No balance was reported in this period. The statement begins with the first answer.',
            npmRun('statement'),
          ],
        },
        sums,
        [
          column.text('account', 'account'),
          column.text(by, ({ group }) => (group === '' ? 'none of our calls' : group)),
          ...(by === 'day' ? [column.number('opening', 'opening')] : []),
          column.number('ours', 'ours'),
          column.number('perhaps ours', 'perhaps_ours'),
          column.number('external', 'others'),
          column.number('added', 'top_up'),
          ...(by === 'day' ? [column.number('closing', 'closing')] : []),
        ],
      )}
      ${events.length === 0 ? null : drawEvents(events, place)}`,
  }),
})

function drawEvents(events: readonly NamedEvent[], { zone }: PagePlace): Html {
  return tableSection(
    {
      id: 'events',
      title: 'Changes that our calls do not fully explain',
      about: events.length > mostEvents ? `The newest ${mostEvents} of ${events.length}.` : null,
    },
    events.slice(-mostEvents).toReversed(),
    [
      column.word('seen', ({ at }) => instant(at, zone)),
      column.word('what', 'what'),
      column.number('credits', 'credits'),
      column.number('balance', 'balance'),
      column.number('of run', 'run_id'),
      column.text('account', 'account'),
    ],
  )
}

function drawForecast(forecast: CreditForecast | null, { zone }: PagePlace): Html {
  const about = html`The next seven days for the account in the settings;
  ${command(npmRun('forecast'))} looks further ahead.`
  const steps = forecast?.outcome.kind === 'known' ? forecast.outcome.steps : []
  const coming =
    steps.length === 0
      ? nothing(
          'There is no open run with a known cost. Open runs and upcoming nights will be listed here.',
          `${npmRun('nightly --')} --show`,
        )
      : table('Upcoming runs', steps, [
          column.word('when', ({ at }) => instant(new Date(at), zone)),
          column.word('what', ({ kind, name }) => (kind === 'run' ? `run ${name}` : name)),
          column.text('list', 'list'),
          column.number('to buy', 'asked'),
          column.number('still fresh', 'fresh'),
          column.number('credits', 'credits'),
          column.number('at the highest price', 'worst'),
          column.number('left after', 'after'),
          column.plain('verdict', verdict),
        ])
  return section(
    { id: 'forecast', title: 'Forecast', about },
    html`${drawForecastLines(forecast, zone)}
    ${forecast === null ? null : html`${band(forecast, steps)} ${coming}`}`,
  )
}

/** Draws the forecast as sentences. `forecast` is null after a timeout. */
export function drawForecastLines(forecast: CreditForecast | null, zone: string): Html {
  if (forecast === null) return html`<p>The forecast takes too long to compute for this page.</p>`
  return lines(forecastSentences(forecast, zone))
}

function verdict({ cut, sure, bought, asked }: ForecastStep): Html {
  if (cut !== null) {
    const what = cut === 'floor' ? 'the floor' : `the ${cut === 'budget' ? 'run' : cut}'s budget`
    return html`<span class="bad">${what} stops the run after ${bought} of ${asked}</span>`
  }
  if (sure) return html`fits`
  return html`<span class="warn">affordable at recent prices, but not at the highest price</span>`
}

function band({ balance, now, floor }: CreditForecast, steps: readonly ForecastStep[]) {
  // A single point is not enough for a chart.
  if (balance === null || new Set(steps.map(({ at }) => at)).size < 2) return null
  const begin = { at: now, value: balance }
  let left = balance
  const worst = steps.map(({ at, kind, worst: dear, after }) => {
    left = kind === 'renewal' ? after : left - dear
    return { at: new Date(at), value: Math.max(0, left) }
  })
  const usual = steps.map(({ at, after }) => ({ at: new Date(at), value: after }))
  return drawPicture(
    {
      title: 'Balance forecast at recent prices and at the highest price',
      series: [
        { name: 'at recent prices', points: [begin, ...usual] },
        { name: 'at the highest price', points: [begin, ...worst] },
      ],
      height: 200,
      range: [0, Math.max(balance, ...usual.map(({ value }) => value), floor)],
      named: true,
      mark: floorMark(floor),
      ...creditPicture,
    },
    { name: 'Forecast chart', seen: 'beginning' },
  )
}

function tickText(value: number): string {
  return Math.abs(value) < 10_000 ? numberText(value) : shortNumber(value)
}
