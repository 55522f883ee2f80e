// The page Money: credits spent and left.

import { npmRun } from '../../base/cli/commands.ts'
import type { Config } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import type { ForecastStep } from '../../core/forecast/forecast.ts'
import { type CreditForecast, forecastSentences } from '../../core/forecast/foresee.ts'
import {
  type AccountSpending,
  type BalancePoint,
  readCosts,
  readBalancePoints,
  readAccountSpending,
  type SpentRow,
  type ZonedSpan,
} from '../../core/ledger/money.ts'
import {
  type Grouping,
  readEvents,
  readStatement,
  type StatementRow,
} from '../../core/ledger/statement.ts'
import { type NamedEvent, nameRises } from '../../core/runs/statement.ts'
import { dayAfter, type DaySpan } from '../address.ts'
import { type Html, html, numberText, shortNumber } from '../drawing/html.ts'
import { drawPicture } from '../drawing/lines.ts'
import {
  amount,
  command,
  figure,
  given,
  instant,
  nothing,
  section,
  table,
  tiles,
  to,
} from '../drawing/parts.ts'
import { definePage, type DeskReading, type PagePlace } from '../page.ts'
import { chooser, dayFields } from './choose.ts'

export interface AccountsFound {
  readonly accounts: readonly AccountSpending[]
  readonly points: readonly BalancePoint[]
  readonly costs: readonly SpentRow[]
  /** Null if there are too many calls for a quick read. */
  readonly events: readonly NamedEvent[] | null
}

interface MoneyFound extends AccountsFound {
  readonly forecast: CreditForecast | null
}

const usualDays = 31

/** The page of credits: spent, left, and forecast. */
export const money = definePage({
  path: '/money',
  area: 'Operations',
  nav: 'Money',
  ask: (address, today) => address.span({ today, days: usualDays }),
  read: readMoney,
  show: (found, place, span) => ({
    title: 'Money',
    plain: true,
    lead: html`Credits from ${span.since} to ${span.until}, days in ${place.zone}, by when calls
    ended.`,
    body: html`${chooser({ place, name: 'Which days' }, dayFields(span))}
    ${drawBalances(found, place, span)} ${drawForecast(found.forecast, place)} ${drawCosts(found)}`,
  }),
})

async function readMoney(reading: DeskReading, span: DaySpan): Promise<MoneyFound> {
  const zoned = { ...span, zone: reading.config.zone }
  const forecast = await reading.forecast()
  const events = await reading.briefly((db) => readRises(db, zoned, reading.config))
  return reading.books(async (db) => ({
    ...(await readAccountsFound(db, zoned)),
    events,
    forecast,
  }))
}

/** Balance changes within some days that none of our calls certainly explains. */
export async function readRises(
  db: Database,
  { since, until, zone }: ZonedSpan,
  config: Pick<Config, 'renewal' | 'zone'>,
): Promise<readonly NamedEvent[]> {
  const order = { account: null, since, until: dayAfter(until), zone }
  return nameRises(await readEvents(db, order), config)
}

/** Reads the accounts, their balances and the costs of some days. */
export async function readAccountsFound(
  db: Database,
  span: ZonedSpan,
): Promise<Omit<AccountsFound, 'events'>> {
  return {
    accounts: await readAccountSpending(db, span),
    points: await readBalancePoints(db, span),
    costs: await readCosts(db, span),
  }
}

export function drawCosts({ costs: all }: AccountsFound): Html {
  return html`${costs(
    { id: 'lists', title: 'Cost by list', head: 'list' },
    all.filter(({ by }) => by === 'list'),
  )}
  ${costs(
    { id: 'classes', title: 'Cost by price class', head: 'results / device' },
    all.filter(({ by }) => by === 'class'),
  )}`
}

export function drawBalances(
  { accounts, points, events }: AccountsFound,
  place: PagePlace,
  span: DaySpan,
): Html {
  if (accounts.length === 0) {
    const text =
      'No account was used yet. Its balance over time will be charted here, with floor, top-ups and renewals.'
    return section(
      { id: 'balance', title: 'Balance' },
      nothing(text, `${npmRun('work --')} --drain`),
    )
  }
  return html`${accounts.map((account) =>
    drawBalance(
      {
        account,
        points: points.filter((point) => point.account_id === account.id),
        events: events?.filter((event) => event.account === account.account) ?? null,
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
      head: 'credits per answer',
      number,
      cell: ({ credits, answers }: SpentRow) => amount(answers === 0 ? null : credits / answers),
    },
    { head: 'spent without an answer', number, cell: ({ lost }: SpentRow) => amount(lost) },
    { head: 'possibly charged', number, cell: ({ perhaps }: SpentRow) => amount(perhaps) },
    { head: 'most expensive call', number, cell: ({ dearest }: SpentRow) => amount(dearest) },
  ]
  return section(
    { id, title },
    rows.length === 0
      ? nothing('No call ended in this period.', npmRun('status'))
      : table(title, columns, rows),
  )
}

interface BalanceFound {
  readonly account: AccountSpending
  readonly points: readonly BalancePoint[]
  /** Null if there are too many calls for a quick read. */
  readonly events: readonly NamedEvent[] | null
  readonly span: DaySpan
}

/** One account: its balance, its spending, and changes by others. */
function drawBalance(found: BalanceFound, place: PagePlace): Html {
  const { account, events } = found
  const told = (events ?? []).filter(({ what }) => what !== 'perhaps ours')
  const sum = (names: readonly string[]) =>
    events === null
      ? null
      : events
          .filter(({ what }) => names.includes(what))
          .reduce((all, { credits }) => all + credits, 0)
  const external = sum(['external spend'])
  return section(
    {
      id: `account-${account.id}`,
      title: html`Balance of ${given(account.account)}`,
      about: html`${account.origin} account; the balance was reported
      ${instant(account.observed_at, place.zone)}.`,
    },
    html`${tiles([
      { text: 'credits left', value: figure(`${account.account}.remaining`, account.remaining) },
      { text: 'credit floor', value: amount(account.floor) },
      {
        text: 'used by our calls in this period',
        value: figure(`${account.account}.used`, account.used),
      },
      { text: 'added: top-ups and renewals', value: amount(sum(['top-up', 'renewal'])) },
      { text: 'external spend', value: amount(external === null ? null : Math.abs(external)) },
    ])}
    ${picture(found)}
    ${
      told.length === 0
        ? null
        : html`<ul class="lines">
            ${told.slice(-8).map((event) => happened(event, place))}
          </ul>`
    }
    ${statementLink(found, place)}`,
  )
}

function statementLink({ account, span }: BalanceFound, { href }: PagePlace): Html | null {
  const way = href('/money/statement', {
    account: account.account,
    since: span.since,
    until: span.until,
  })
  return way === null ? null : html`<p>${to(way, 'Every change explained: the statement')}</p>`
}

function happened({ what, at, credits, balance }: NamedEvent, { zone }: PagePlace): Html {
  const sign = credits > 0 ? '+' : '−'
  return html`<li>
    ${instant(at, zone)}: ${what} ${sign} ${numberText(Math.abs(credits))}, balance
    ${numberText(balance)}
  </li>`
}

function picture({ account, points, events }: BalanceFound): Html {
  if (points.length < 2)
    return html`<p class="soft">
      Fewer than two balances were reported in this period, so there is no line to draw.
    </p>`
  const values = points.map(({ remaining }) => remaining)
  const { floor } = account
  const greatest = Math.max(...values, floor ?? 0)
  const least = Math.min(...values, floor ?? greatest)
  // A balance that hardly changed would look flat on an axis from 0, so the axis starts higher and says so.
  const flat =
    least > greatest / 2 &&
    Math.min(...values) > greatest / 2 &&
    (floor === null || floor < greatest / 2)
  const from = flat ? Math.min(...values) - (greatest - Math.min(...values)) * 0.1 - 1 : 0
  const mark =
    floor === null || floor < from
      ? {}
      : { mark: { value: floor, name: `floor ${numberText(floor)}` } }
  return html`${drawPicture({
    title: `Balance of ${account.account} over time`,
    series: [
      {
        name: account.account,
        points: points.map(({ at, remaining }) => ({ at, value: remaining })),
      },
    ],
    events: (events ?? [])
      .filter(({ what }) => what === 'top-up' || what === 'renewal')
      .map(({ at, what, credits }) => ({
        at,
        name: `${what}: ${numberText(credits)} credits`,
      })),
    grain: 'instant',
    hover: true,
    width: 1040,
    height: 230,
    range: [from, greatest > from ? greatest : from + 1],
    format: tickText,
    ...mark,
  })}
  ${from > 0 ? html`<p class="soft">The scale does not start at zero.</p>` : null}`
}

interface StatementAsked {
  readonly span: DaySpan
  readonly account: string | null
  readonly by: Grouping
}

interface StatementFound {
  readonly sums: readonly StatementRow[]
  readonly events: readonly NamedEvent[]
}

const statementDays = 31
const mostEvents = 200
const groupings = ['day', 'list', 'run'] as const

/** Explains every change of the balance. */
export const statementPage = definePage({
  path: '/money/statement',
  area: 'Operations',
  ask: (address, today): StatementAsked => ({
    span: address.span({ today, days: statementDays }),
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
    of the balance is ours, possibly ours, external spend, or a top-up.`,
    body: html`${chooser({ place, name: 'Which days', keep: ['account', 'by'] }, dayFields(asked.span))}
    ${choices(asked, place)} ${sums(found, asked)} ${drawEvents(found, place)}`,
  }),
})

function choices({ by, account, span }: StatementAsked, { href }: PagePlace): Html {
  return html`<p>
    Grouped by
    ${groupings.map((one) =>
      one === by
        ? html` <strong>${one}</strong>`
        : html` ${to(href('/money/statement', { account, by: one, ...span }), one)}`,
    )}.
    In a terminal: ${command(`${npmRun('statement --')} --by ${by}`)}
  </p>`
}

function sums({ sums: rows }: StatementFound, { by }: StatementAsked): Html {
  if (rows.length === 0) {
    const text = 'No balance was reported in this period. A statement begins with the first answer.'
    return section({ id: 'sums', title: 'Changes' }, nothing(text, npmRun('statement')))
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
    { head: 'external', number, cell: (row: StatementRow) => amount(row.others) },
    { head: 'added', number, cell: (row: StatementRow) => amount(row.top_up) },
    ...(by === 'day' ? [balance[1]] : []),
  ]
  return section({ id: 'sums', title: 'Changes' }, table('Changes of the balance', columns, rows))
}

function drawEvents({ events: all }: StatementFound, { zone }: PagePlace): Html | null {
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
    { id: 'events', title: 'Changes that our calls do not fully explain', ...about },
    table('Events', columns, rows),
  )
}

/** Expected and highest cost of open runs and future nights. */
function drawForecast(forecast: CreditForecast | null, { zone }: PagePlace): Html {
  const about = html`The coming seven days of the account in the settings;
  ${command(npmRun('forecast'))} looks further.`
  if (forecast === null) {
    return section({ id: 'forecast', title: 'Forecast', about }, drawForecastLines(forecast, zone))
  }
  const { outcome } = forecast
  const steps = outcome.kind === 'known' ? outcome.steps : []
  const body =
    steps.length === 0
      ? nothing(
          'No run is open, or its cost is not known yet. Each open run and coming night will be a row here.',
          `${npmRun('nightly --')} --show`,
        )
      : html`${band(forecast, steps)} ${table('Coming runs', forecastColumns(zone), steps)}`
  return section(
    { id: 'forecast', title: 'Forecast', about },
    html`${drawForecastLines(forecast, zone)} ${body}`,
  )
}

/** The forecast in sentences; null if it took too long. */
export function drawForecastLines(forecast: CreditForecast | null, zone: string): Html {
  if (forecast === null) return html`<p>The forecast takes too long to compute for this page.</p>`
  return html`<ul class="lines">
    ${forecastSentences(forecast, zone).map((line) => html`<li>${line}</li>`)}
  </ul>`
}

function forecastColumns(zone: string) {
  const number = true as const
  const word = true as const
  return [
    { head: 'when', word, cell: ({ at }: ForecastStep) => instant(new Date(at), zone) },
    {
      head: 'what',
      word,
      cell: ({ kind, name }: ForecastStep) => (kind === 'run' ? `run ${name}` : name),
    },
    { head: 'list', cell: ({ list }: ForecastStep) => given(list) },
    { head: 'to buy', number, cell: ({ asked }: ForecastStep) => amount(asked) },
    { head: 'still fresh', number, cell: ({ fresh }: ForecastStep) => amount(fresh) },
    { head: 'credits', number, cell: ({ credits }: ForecastStep) => amount(credits) },
    { head: 'at the highest price', number, cell: ({ worst }: ForecastStep) => amount(worst) },
    { head: 'left after', number, cell: ({ after }: ForecastStep) => amount(after) },
    { head: 'verdict', cell: verdict },
  ]
}

function verdict({ cut, sure, bought, asked }: ForecastStep): Html {
  if (cut !== null) {
    const what = cut === 'floor' ? 'the floor' : `the ${cut === 'budget' ? 'run' : cut}'s budget`
    return html`<span class="bad">${what} stops it at ${bought} of ${asked}</span>`
  }
  return sure
    ? html`fits`
    : html`<span class="warn">fits at recent prices, not at the highest</span>`
}

/** Future balance: one line at recent prices, one at the highest price. */
function band(
  { balance, now, floor }: CreditForecast,
  steps: readonly ForecastStep[],
): Html | null {
  // A single point in time is not a trend.
  if (balance === null || new Set(steps.map(({ at }) => at)).size < 2) return null
  const begin = { at: now, value: balance }
  let left = balance
  const worst = steps.map(({ at, kind, worst: dear, after }) => {
    left = kind === 'renewal' ? after : left - dear
    return { at: new Date(at), value: Math.max(0, left) }
  })
  const usual = steps.map(({ at, after }) => ({ at: new Date(at), value: after }))
  const greatest = Math.max(balance, ...usual.map(({ value }) => value), floor)
  return drawPicture(
    {
      title: 'Forecast of the balance, at recent and at the highest prices',
      series: [
        { name: 'at recent prices', points: [begin, ...usual] },
        { name: 'at the highest price', points: [begin, ...worst] },
      ],
      grain: 'instant',
      hover: true,
      width: 1040,
      height: 200,
      range: [0, greatest],
      format: tickText,
      named: true,
      mark: { value: floor, name: `floor ${numberText(floor)}` },
    },
    { name: 'Chart of the forecast', seen: 'beginning' },
  )
}

function tickText(value: number): string {
  return Math.abs(value) < 10_000 ? numberText(value) : shortNumber(value)
}
