// Reads the data for a forecast, computes it, and prints it as a table, sentences or JSON.

import type { Origin } from '../../base/answer.ts'
import { count, formatNumber, formatTable } from '../../base/cli/text.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { statement } from '../../base/database/sql-file.ts'
import { unhandled } from '../../base/errors.ts'
import { type Cron, dueBetween, nextAfter, readCron } from '../../base/time/cron.ts'
import { dayMs, formatMinute, localDate } from '../../base/time/zone.ts'
import {
  type Buyer,
  type ComingSchedule,
  type ListedGroup,
  type OpenTasks,
  readComing,
  readGroups,
  readOpenTasks,
} from '../enqueue/prospect.ts'
import { costClass, monthsOf, readAllListBudgets } from '../ledger/account.ts'
import { type Funds, readFunds } from '../ledger/prices.ts'
import type { Mill } from '../mill.ts'
import { databaseNow } from '../nights/nights.ts'
import {
  type ComingNight,
  type Forecast,
  forecastOf,
  type ForecastStep,
  type OpenWork,
  type ForecastInput,
  type QueryGroup,
} from './forecast.ts'

interface ForecastOrder {
  readonly buyer: Buyer & { readonly origin: Origin }
  /** Configured floor; a worker's floor may be higher. */
  readonly floor: number
  readonly maxAgeMs: number
  readonly dailyBudget: number | null
  readonly monthlyBudget: number | null
  readonly renewal: Cron | null
  readonly zone: string
  readonly days: number
  /** Hypothetical work, such as a planned list. */
  readonly extra?: readonly OpenWork[]
}

export interface CreditForecast {
  readonly now: Date
  readonly until: Date
  readonly balance: number | null
  readonly observedAt: Date | null
  readonly floor: number
  readonly perMinute: number | null
  readonly schedules: number
  /** Schedules with an unknown cost, and why. */
  readonly unpriced: readonly { readonly schedule: string; readonly reason: string }[]
  /** Next renewal of the plan; null if none is configured. */
  readonly renewal: { readonly at: Date; readonly balance: number | null } | null
  readonly outcome: Forecast
}

/** Reads open work, schedules, answers and the balance, and computes the forecast. */
export async function computeForecast(db: Database, order: ForecastOrder): Promise<CreditForecast> {
  const { buyer, zone } = order
  const now = await databaseNow(db)
  const until = new Date(now.getTime() + order.days * dayMs)
  const funds = await readFunds(db, { name: buyer.account, kind: buyer.origin })
  const coming = await readComing(db)
  const renewals = await renewalsOf(db, order, { now, until })
  const perMinute = await readPace(db, buyer)
  const floor = Math.max(order.floor, funds.floor ?? 0)
  const today = localDate(zone, now)
  const monthOf = monthsOf(order.renewal, zone)
  const spent = await readSpent(db, buyer, { day: today, month: monthOf(now.getTime()).month })
  const input: ForecastInput = {
    now: now.getTime(),
    until: until.getTime(),
    balance: funds.remaining,
    floor,
    prices: await pricesOf(db, buyer, funds),
    perMinute,
    dailyBudget: order.dailyBudget,
    dayOf: (at) => localDate(zone, new Date(at)),
    spentToday: spent.day,
    monthlyBudget: order.monthlyBudget,
    monthOf: (at) => monthOf(at).month,
    spentThisMonth: spent.month,
    lists: await readAllListBudgets(db, today),
    open: [...openWork(await readOpenTasks(db)), ...(order.extra ?? [])],
    groups: (await readGroups(db, buyer)).map(groupOf),
    nights: coming.flatMap((schedule) => nightsOf(schedule, order, { after: now, until })),
    renewals: renewals.map(({ at, balance }) => ({ at: at.getTime(), balance })),
  }
  return {
    ...{ now, until, floor, perMinute },
    balance: funds.remaining,
    observedAt: funds.observedAt,
    schedules: coming.length,
    unpriced: await readUnpriced(db),
    renewal: renewals[0] ?? null,
    outcome: forecastOf(input),
  }
}

/** Recent prices; a class without a recent call is assumed to have its highest price. */
async function pricesOf(
  db: Database,
  buyer: Buyer,
  { costs }: Funds,
): Promise<ForecastInput['prices']> {
  const prices = new Map(
    costs.map(({ class: name, dearest }) => [name, { expected: dearest, worst: dearest }]),
  )
  for (const { class: name, expected, worst } of await readRecentPrices(db, buyer)) {
    prices.set(name, { expected, worst })
  }
  return prices
}

function groupOf(group: ListedGroup): QueryGroup {
  const { lists, queries, wishes, answered_at: answered, answered_on: answeredOn, ...query } = group
  const answeredAt = answered?.getTime() ?? null
  return { lists, queries, wishes, answeredOn, class: costClass(query), answeredAt }
}

function openWork(tasks: readonly OpenTasks[]): readonly OpenWork[] {
  const runs = new Map<number, OpenWork>()
  for (const { run, list, month, left, tasks: howMany, ...query } of tasks) {
    const classes = [...(runs.get(run)?.classes ?? []), { class: costClass(query), tasks: howMany }]
    runs.set(run, { run, list, month, left, classes })
  }
  return [...runs.values()]
}

const usualPriority = 5

function nightsOf(
  coming: ComingSchedule,
  { maxAgeMs }: ForecastOrder,
  span: { readonly after: Date; readonly until: Date },
): readonly ComingNight[] {
  const { name, list, list_name: listName, cron, zone, missed, budget, max_age_ms: age } = coming
  const reading = readCron(cron)
  if (reading.kind === 'problem') return []
  const adaptive = coming.adaptive_days !== null
  return dueBetween(reading.cron, zone, span).map(({ at, date: day }) => ({
    ...{ schedule: name, list, listName, budget, day, adaptive },
    at: at.getTime(),
    maxAgeMs: age ?? maxAgeMs,
    keepsOld: missed === 'all',
    ...{ priority: coming.priority ?? usualPriority, part: coming.part },
  }))
}

/** Enabled schedules whose list was never read, so that its contents are unknown. */
async function readUnpriced(db: Database): Promise<CreditForecast['unpriced']> {
  const rows = await db
    .selectFrom('schedules')
    .select(['name', 'list'])
    .where('enabled', '=', true)
    .where('list', 'not in', (lists) => lists.selectFrom('lists').select('lists.name'))
    .orderBy('name')
    .execute()
  return rows.map(({ name, list }) => ({
    schedule: name,
    reason: `the list ${list} was never read`,
  }))
}

/** Each renewal is assumed to restore the balance to the level after the previous one, whatever was left. */
async function renewalsOf(
  db: Database,
  { renewal, zone, buyer }: ForecastOrder,
  { now, until }: { readonly now: Date; readonly until: Date },
): Promise<readonly { readonly at: Date; readonly balance: number | null }[]> {
  if (renewal === null) return []
  const past = dueBetween(renewal, zone, {
    after: new Date(now.getTime() - 62 * dayMs),
    until: now,
  })
  const last = past.at(-1)
  const brought =
    last === undefined ? null : await balanceAfter(db, buyer, { at: last.at, days: 1 })
  // Before the first known renewal, use the highest recent balance as an estimate.
  const lately = { at: new Date(now.getTime() - 62 * dayMs), days: 62 }
  const balance = brought ?? (await balanceAfter(db, buyer, lately))
  const dues = dueBetween(renewal, zone, { after: now, until }).map(({ at }) => at)
  const next = dues.length > 0 ? dues : [nextAfter(renewal, zone, now)].filter((at) => at !== null)
  return next.map((at) => ({ at, balance }))
}

/** Recent price of a query of one class, including all calls it took. */
interface RecentPrice {
  readonly class: string
  readonly expected: number
  readonly worst: number
}

const newest = 5000

/**
 * Uses the calls of the last day on which a class was bought, because older prices may be outdated. The share of free
 * failed tasks is the median of recent days, so that one bad night does not make the next look cheap.
 */
async function readRecentPrices(
  db: Database,
  { account, origin }: Buyer,
): Promise<readonly RecentPrice[]> {
  const { rows } = await db.executeQuery(
    statement<RecentPrice>('prices_lately_paid', { account, origin, newest }),
  )
  return rows
}

/** Calls per minute while the account was last working; null if there are too few. */
async function readPace(db: Database, { account, origin }: Buyer): Promise<number | null> {
  const { rows } = await db.executeQuery(
    statement<{ per_minute: number | null }>('buying_pace', { account, origin }),
  )
  return rows[0]?.per_minute ?? null
}

/** Highest balance within a period; null if none was reported. */
async function balanceAfter(
  db: Database,
  { account, origin }: Buyer,
  { at, days }: { readonly at: Date; readonly days: number },
): Promise<number | null> {
  const { balance } = await db
    .selectFrom('calls')
    .innerJoin('accounts', 'accounts.id', 'calls.account_id')
    .select((eb) =>
      eb.fn
        .max<number | null>(
          eb('calls.credits_remaining', '+', eb.fn.coalesce('calls.credits_used', sql.lit(0))),
        )
        .as('balance'),
    )
    .where('accounts.name', '=', account)
    .where('accounts.kind', '=', origin)
    .where('calls.sent_at', '>=', at)
    .where('calls.sent_at', '<', new Date(at.getTime() + days * dayMs))
    .executeTakeFirstOrThrow()
  return balance
}

/** Credits used by the account on a day and in a month, including reservations for calls in flight. */
export async function readSpent(
  db: Database,
  { account, origin }: Buyer,
  { day, month }: { readonly day: string; readonly month: string },
): Promise<{ readonly day: number; readonly month: number }> {
  const spent = await db
    .selectFrom('accounts')
    .where('name', '=', account)
    .where('kind', '=', origin)
    .select((eb) => [
      eb
        .case()
        .when('day', '=', day)
        .then(eb('day_spent', '+', eb.ref('reserved')))
        .else(0)
        .end()
        .as('day'),
      eb
        .case()
        .when('month', '>=', month)
        .then(eb('month_spent', '+', eb.ref('reserved')))
        .else(0)
        .end()
        .as('month'),
    ])
    .executeTakeFirst()
  return spent ?? { day: 0, month: 0 }
}

/** Forecast for the configured account, with hypothetical work. */
export function readCreditForecast(
  { db, config, supplier }: Pick<Mill, 'db' | 'config' | 'supplier'>,
  { days, extra = [] }: { readonly days: number; readonly extra?: readonly OpenWork[] },
): Promise<CreditForecast> {
  const { creditFloor: floor, maxAgeMs, dailyBudget, monthlyBudget, renewal, zone } = config
  const rules = { floor, maxAgeMs, dailyBudget, monthlyBudget, renewal, zone }
  return computeForecast(db, { buyer: supplier, ...rules, days, extra })
}

/** One line per open run and future night, and when the floor is reached. */
export function forecastLines(forecast: CreditForecast, zone: string): readonly string[] {
  const { outcome } = forecast
  const steps = outcome.kind === 'known' ? outcome.steps : []
  return [
    balanceLine(forecast, zone),
    ...(steps.length === 0 ? [] : [stepTable(steps, zone)]),
    ...forecastSentences(forecast, zone),
  ]
}

function balanceLine({ balance, observedAt, floor }: CreditForecast, zone: string): string {
  const least = `credit floor: ${formatNumber(floor)}`
  if (balance === null) return `Balance: unknown; ${least}`
  const seen = observedAt === null ? '' : `reported ${formatMinute(zone, observedAt)}, `
  return `Balance: ${count(balance, 'credit')} (${seen}after calls in flight); ${least}`
}

const heads = ['when', 'what', 'list', 'to buy', 'fresh', 'credits', 'at worst', 'left', 'verdict']

function stepTable(steps: readonly ForecastStep[], zone: string): string {
  const rows = steps.map((step) => {
    const { kind, name, list, asked, fresh, credits, worst, after } = step
    const when = formatMinute(zone, new Date(step.at))
    if (kind === 'renewal') return [when, 'renewal', '', '', '', '', '', after, '']
    const what = kind === 'run' ? `run ${name}` : name
    return [when, what, list, asked, fresh, credits, worst, after, verdictOf(step)]
  })
  return formatTable(heads, rows, { right: ['to buy', 'fresh', 'credits', 'at worst', 'left'] })
}

function verdictOf({ cut, sure, bought, asked }: ForecastStep): string {
  switch (cut) {
    case null:
      return sure ? 'fits' : 'fits at recent prices, not at the highest'
    case 'budget':
      return `run budget reached at ${formatNumber(bought)} of ${formatNumber(asked)}`
    case 'list':
      return `monthly budget of the list reached at ${formatNumber(bought)} of ${formatNumber(asked)}`
    case 'month':
      return `monthly budget reached at ${formatNumber(bought)} of ${formatNumber(asked)}`
    case 'day':
      return `daily budget reached at ${formatNumber(bought)} of ${formatNumber(asked)}`
    case 'floor':
      return `credit floor reached at ${formatNumber(bought)} of ${formatNumber(asked)}`
    default:
      throw unhandled('cut', cut)
  }
}

/** Forecast in sentences: the cost of the next 24 hours, and when the floor is reached. */
export function forecastSentences(
  { outcome, now, until, schedules, renewal, unpriced }: CreditForecast,
  zone: string,
): readonly string[] {
  const without = unpriced.map(({ schedule, reason }) => `${schedule} has no forecast: ${reason}`)
  if (outcome.kind === 'unknown') {
    const { missing, day } = outcome
    const what = missing === 'balance' ? 'the balance is' : 'prices are'
    return [
      `${what} not known yet: the first answers will show`,
      ...(day === undefined
        ? []
        : [
            `next 24 hours: about ${count(day.credits, 'credit')}, at most ${formatNumber(day.worst)}`,
          ]),
      ...without,
    ]
  }
  const { steps } = outcome
  if (steps.length === 0)
    return [
      schedules === 0 ? 'no run is open, and no schedule is on' : 'no run is open',
      ...without,
    ]
  const lines = [
    dayLine(steps, now),
    floorLine(steps, { until, zone }),
    ...topUpLines(steps, zone),
    ...budgetLines(steps, zone),
    ...without,
  ]
  if (renewal !== null && renewal.balance === null) {
    lines.push(
      `the plan renews ${formatMinute(zone, renewal.at)}; the first renewal will show how many credits it brings`,
    )
  }
  return lines
}

function dayLine(steps: readonly ForecastStep[], now: Date): string {
  const near = steps.filter(({ at }) => at <= now.getTime() + dayMs)
  const sum = near.reduce((total, { credits }) => total + credits, 0)
  const worst = near.reduce((total, step) => total + step.worst, 0)
  const open = near
    .filter(({ kind }) => kind === 'run')
    .reduce((total, step) => total + step.credits, 0)
  return `next 24 hours: about ${count(sum, 'credit')} (${formatNumber(open)} for open runs), at most ${formatNumber(worst)}`
}

function floorLine(
  steps: readonly ForecastStep[],
  { until, zone }: { readonly until: Date; readonly zone: string },
): string {
  const met = firstStop(steps)
  if (met !== null) {
    const { step, at } = met
    return `the credit floor is reached around ${formatMinute(zone, at)}: ${step.list} stops at ${formatNumber(step.bought)} of ${formatNumber(step.asked)}`
  }
  const unsure = steps.find(({ cut, sure }) => cut === null && !sure)
  const day = formatMinute(zone, until).slice(0, 10)
  return unsure === undefined
    ? `the credit floor is not reached before ${day}, even at the highest recent price`
    : `the credit floor is not reached before ${day} at recent prices; at the highest, ${unsure.list} of ${formatMinute(zone, new Date(unsure.at))} does not fit`
}

/** Credits to add, and by when, so that the floor stops nothing before the next renewal. */
function topUpLines(steps: readonly ForecastStep[], zone: string): string[] {
  const renewed = steps.findIndex(({ kind }) => kind === 'renewal')
  const before = renewed === -1 ? steps : steps.slice(0, renewed)
  const short = before.filter(({ cut }) => cut === 'floor')
  const [first] = short
  if (first === undefined) return []
  const price = ({ credits, bought, worst, asked }: ForecastStep) =>
    bought > 0 ? credits / bought : asked > 0 ? worst / asked : 0
  const dearest = Math.max(...before.map(price))
  const missing = short.reduce((sum, step) => {
    const each = price(step) || dearest
    return sum + (step.asked - step.bought) * each
  }, 0)
  if (missing === 0) return []
  const until = renewed === -1 ? '' : ' until the next renewal'
  return [
    `to buy everything${until}, add ${count(Math.ceil(missing), 'credit')} by ${formatMinute(zone, new Date(first.at))}`,
  ]
}

/** Queries that budgets exclude although there is credit. */
function budgetLines(steps: readonly ForecastStep[], zone: string): string[] {
  const short = steps.filter(({ cut }) => cut !== null && cut !== 'floor')
  const [first] = short
  if (first === undefined) return []
  const left = short.reduce((sum, { asked, bought }) => sum + asked - bought, 0)
  const when = formatMinute(zone, new Date(first.at))
  return [
    `budgets exclude ${count(left, 'query')}, first on ${when}: ${first.list} stops at ${formatNumber(first.bought)} of ${formatNumber(first.asked)}`,
  ]
}

function firstStop(
  steps: readonly ForecastStep[],
): { readonly step: ForecastStep; readonly at: Date } | null {
  const step = steps.find(({ cut }) => cut === 'floor')
  return step === undefined ? null : { step, at: new Date(step.floorAt ?? step.at) }
}

export function forecastJson({ outcome, now, until, ...forecast }: CreditForecast) {
  const steps = outcome.kind === 'known' ? outcome.steps : []
  const met = firstStop(steps)
  return {
    now,
    until,
    balance: forecast.balance,
    observed_at: forecast.observedAt,
    floor: forecast.floor,
    calls_per_minute: forecast.perMinute,
    schedules: forecast.schedules,
    renewal: forecast.renewal,
    missing: outcome.kind === 'unknown' ? outcome.missing : null,
    day_without_balance: outcome.kind === 'unknown' ? (outcome.day ?? null) : null,
    without_figure: forecast.unpriced,
    floor_at: met?.at ?? null,
    steps: steps.map(({ at, floorAt, ...step }) => ({
      ...step,
      at: new Date(at),
      floor_at: floorAt === null ? null : new Date(floorAt),
    })),
  }
}
