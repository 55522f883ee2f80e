// Reads the data for a forecast, computes the forecast, and prints it as a table, sentences or JSON.

import { count, formatNumber, formatTable } from '../../base/cli/text.ts'
import type { Config } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { priorities } from '../../base/query.ts'
import { type Due, dueBetween, nextAfter, readCron } from '../../base/time/cron.ts'
import { dayMs, formatMinute, localDate } from '../../base/time/zone.ts'
import { costClass, monthsOf, readAllListBudgets } from '../ledger/account.ts'
import { type Funds, readFunds, readOpenWork } from '../ledger/prices.ts'
import type { Mill, Supplier } from '../mill.ts'
import { databaseNow } from '../nights/nights.ts'
import {
  type ComingNight,
  type Cut,
  forecastOf,
  type ForecastStep,
  type QueryGroup,
} from './forecast.ts'

interface ForecastMill extends Pick<Mill, 'db' | 'supplier'> {
  readonly config: Pick<
    Config,
    'creditFloor' | 'maxAgeMs' | 'dailyBudget' | 'monthlyBudget' | 'renewal' | 'zone'
  >
}

export type CreditForecast = Awaited<ReturnType<typeof readCreditForecast>>

export async function readCreditForecast(
  { db, supplier, config }: ForecastMill,
  { days }: { readonly days: number },
) {
  const { renewal, zone } = config
  const { account, origin } = supplier
  const now = await databaseNow(db)
  const funds = await readFunds(db, { name: account, kind: origin })
  const coming = await readComing(db)
  const { until, nights } = nightsWithin(coming, { now, days, maxAgeMs: config.maxAgeMs })
  const renewals = await foreseeRenewals({ db, supplier, config }, { after: now, until })
  type Pace = { readonly per_minute: number | null }
  const [pace] = await readRows<Pace>(db, 'buying_pace', { account, origin })
  // Calls per minute when the account last made calls; null if there were too few calls.
  const perMinute = pace?.per_minute ?? null
  // The floor of a worker may be higher than the configured floor.
  const floor = Math.max(config.creditFloor, funds.floor ?? 0)
  const today = localDate(zone, now)
  const monthOf = monthsOf(renewal, zone)
  const spent = await readSpent(db, supplier, { day: today, month: monthOf(now.getTime()).month })
  const outcome = forecastOf({
    now: now.getTime(),
    balance: funds.remaining,
    floor,
    prices: await readPrices(db, supplier, funds),
    perMinute,
    dailyBudget: config.dailyBudget,
    dayOf: (at) => localDate(zone, new Date(at)),
    spentToday: spent.day,
    monthlyBudget: config.monthlyBudget,
    monthOf: (at) => monthOf(at).month,
    spentThisMonth: spent.month,
    lists: await readAllListBudgets(db, today),
    open: await readOpenWork(db),
    groups: await readGroups(db, supplier),
    nights,
    renewals: renewals.map(({ at, balance }) => ({ at: at.getTime(), balance })),
  })
  return {
    ...{ now, until, floor, outcome },
    calls_per_minute: perMinute,
    isShorter: until.getTime() < now.getTime() + days * dayMs,
    balance: funds.remaining,
    observed_at: funds.observedAt,
    schedules: coming.length,
    without_figure: await readUnpriced(db),
    renewal: renewals[0] ?? null,
  }
}

/** Reads the queries in all scheduled lists, as of each list's last read. */
async function readGroups(db: Database, { origin, api }: Supplier): Promise<readonly QueryGroup[]> {
  type Listed = Required<Omit<QueryGroup, 'class'>> & Parameters<typeof costClass>[0]
  const groups = await readRows<Listed>(db, 'listed_groups', { origin, api })
  return groups.map((group) => ({ ...group, class: costClass(group) }))
}

/**
 * Reads each class's recent prices, or its highest price if there are none. The share of tasks that fail at no
 * cost is the median of recent days, so that one bad night does not make the forecast too low.
 */
async function readPrices(db: Database, { account, origin }: Supplier, { costs }: Funds) {
  const paid = await readRows<{ class: string; expected: number; worst: number }>(
    db,
    'prices_lately_paid',
    { account, origin, newest },
  )
  const dearest = costs.map((cost) => ({ ...cost, expected: cost.dearest, worst: cost.dearest }))
  return new Map([...dearest, ...paid].map((price) => [price.class, price]))
}

const newest = 5000

/** Maximum number of nights. More nights would take seconds to compute, and nobody would read them. */
const mostNights = 10_000

/** Returns the coming nights in a period. If there are too many, the period is shortened to as little as one day. */
function nightsWithin(
  coming: readonly ComingSchedule[],
  { now, days, maxAgeMs }: { readonly now: Date; readonly days: number; readonly maxAgeMs: number },
) {
  const untilAfter = (many: number) => new Date(now.getTime() + many * dayMs)
  const nightsOf = (until: Date) => {
    const known: KnownDues = new Map()
    return coming.flatMap((one) => nightsOfSchedule(one, maxAgeMs, { after: now, until, known }))
  }
  const firstDay = nightsOf(untilAfter(Math.min(days, 1)))
  const fitting = Math.floor(mostNights / firstDay.length)
  const until = untilAfter(Math.min(days, Math.max(1, fitting)))
  return { until, nights: days <= 1 || fitting <= 1 ? firstDay : nightsOf(until) }
}

type ComingSchedule = Awaited<ReturnType<typeof readComing>>[number]

/** Reads the enabled schedules that the last scheduler stored. */
function readComing(db: Database) {
  return db
    .selectFrom('schedules')
    .innerJoin('lists', 'lists.name', 'schedules.list')
    .select(['schedules.name', 'schedules.cron', 'schedules.zone', 'schedules.missed'])
    .select(['schedules.max_age_ms', 'schedules.budget', 'schedules.adaptive_days'])
    .select(['schedules.priority', 'schedules.part'])
    .select(['lists.id as list', 'lists.name as list_name'])
    .where('schedules.enabled', '=', true)
    .orderBy('schedules.name')
    .execute()
}

/** Cached due times by pattern and zone. Many schedules share a pattern, and computing due times can be slow. */
type KnownDues = Map<string, readonly Due[]>

function nightsOfSchedule(
  coming: ComingSchedule,
  maxAgeMs: number,
  { known, ...span }: { readonly after: Date; readonly until: Date; readonly known: KnownDues },
): readonly ComingNight[] {
  const { name, list, list_name: listName, cron, zone, missed, budget, max_age_ms: age } = coming
  const reading = readCron(cron)
  if (reading.kind === 'problem') return []
  const adaptive = coming.adaptive_days !== null
  const key = `${cron} ${zone}`
  const dues = known.get(key) ?? dueBetween(reading.cron, zone, span)
  known.set(key, dues)
  return dues.map(({ at, date: day }) => ({
    ...{ schedule: name, list, listName, budget, day, adaptive },
    at: at.getTime(),
    maxAgeMs: age ?? maxAgeMs,
    keepsOld: missed === 'all',
    priority: coming.priority ?? priorities.usual,
    part: coming.part,
  }))
}

/** Reads enabled schedules whose list was never read; the size of such a list is unknown. */
function readUnpriced(db: Database) {
  return db
    .selectFrom('schedules')
    .select((eb) => [
      'name as schedule',
      eb.fn<string>('format', [sql.lit('the list %s has never been read'), 'list']).as('reason'),
    ])
    .where('enabled', '=', true)
    .where('list', 'not in', (lists) => lists.selectFrom('lists').select('lists.name'))
    .orderBy('name')
    .execute()
}

/** Predicts renewals. Each renewal is assumed to restore the balance to its value after the previous renewal. */
async function foreseeRenewals(
  { db, supplier, config: { renewal, zone } }: ForecastMill,
  span: { readonly after: Date; readonly until: Date },
) {
  if (renewal === null) return []
  const now = span.after
  // Before the first known renewal, the highest recent balance serves as the estimate.
  const since = new Date(now.getTime() - 62 * dayMs)
  const last = dueBetween(renewal, zone, { after: since, until: now }).at(-1)
  const brought =
    last === undefined ? null : await balanceAfter(db, supplier, { at: last.at, days: 1 })
  const balance = brought ?? (await balanceAfter(db, supplier, { at: since, days: 62 }))
  const dues = dueBetween(renewal, zone, span).map(({ at }) => at)
  const next = dues.length > 0 ? dues : [nextAfter(renewal, zone, now)].filter((at) => at !== null)
  return next.map((at) => ({ at, balance }))
}

/** Highest balance within a period; null if no balance was reported. */
async function balanceAfter(
  db: Database,
  { account, origin }: Supplier,
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

/** Reads the account's spending for a day and for a month, including reservations for calls in flight. */
export async function readSpent(
  db: Database,
  { account, origin }: Supplier,
  { day, month }: { readonly day: string; readonly month: string },
): Promise<{ readonly day: number; readonly month: number }> {
  const spent = await db
    .selectFrom('accounts')
    .where('name', '=', account)
    .where('kind', '=', origin)
    .select(['day', 'day_spent', 'month', 'month_spent', 'reserved'])
    .executeTakeFirst()
  if (spent === undefined) return { day: 0, month: 0 }
  return {
    day: spent.day === day ? spent.day_spent + spent.reserved : 0,
    month: (spent.month ?? '') >= month ? spent.month_spent + spent.reserved : 0,
  }
}

export function forecastLines(forecast: CreditForecast, zone: string): readonly string[] {
  const { outcome } = forecast
  const steps = outcome.kind === 'known' ? outcome.steps : []
  return [
    balanceLine(forecast, zone),
    ...(steps.length === 0 ? [] : [stepTable(steps, zone)]),
    ...forecastSentences(forecast, zone),
  ]
}

function balanceLine(
  { balance, observed_at: observedAt, floor }: CreditForecast,
  zone: string,
): string {
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
  if (cut === null)
    return sure ? 'fits' : 'affordable at recent prices, but not at the highest price'
  return `${limitNames[cut]} reached after ${formatNumber(bought)} of ${formatNumber(asked)} queries`
}

const limitNames: Readonly<Record<Cut, string>> = {
  budget: 'run budget',
  list: 'monthly list budget',
  month: 'monthly budget',
  day: 'daily budget',
  floor: 'credit floor',
}

export function forecastSentences(
  { outcome, now, until, isShorter, schedules, renewal, without_figure: unpriced }: CreditForecast,
  zone: string,
): readonly string[] {
  const without = unpriced.map(({ schedule, reason }) => `${schedule} has no forecast: ${reason}`)
  if (isShorter) {
    without.push(
      `the forecast ends at ${formatMinute(zone, until)}, because more than ${formatNumber(mostNights)} nights are due in the full period`,
    )
  }
  if (outcome.kind === 'unknown') {
    const { missing, day } = outcome
    const what = missing === 'balance' ? 'the balance is' : 'prices are'
    const lines = [`${what} not known until the first answers arrive`]
    if (day !== undefined) {
      lines.push(
        `next 24 hours: about ${count(day.credits, 'credit')}, at most ${formatNumber(day.worst)}`,
      )
    }
    return [...lines, ...without]
  }
  const { steps } = outcome
  if (steps.length === 0) {
    const none = schedules === 0 ? 'no run is open, and no schedule is enabled' : 'no run is open'
    return [none, ...without]
  }
  const lines = [
    dayLine(steps, now),
    floorLine(steps, until, zone),
    ...topUpLines(steps, zone),
    ...budgetLines(steps, zone),
    ...without,
  ]
  if (renewal !== null && renewal.balance === null) {
    lines.push(
      `the plan renews at ${formatMinute(zone, renewal.at)}; the first renewal will show how many credits it adds`,
    )
  }
  return lines
}

function dayLine(steps: readonly ForecastStep[], now: Date): string {
  const runs = steps.filter(({ kind }) => kind === 'run')
  const open = formatNumber(creditsOfDay(runs, now))
  const worst = formatNumber(creditsOfDay(steps, now, 'worst'))
  return `next 24 hours: about ${count(creditsOfDay(steps, now), 'credit')} (${open} for open runs), at most ${worst}`
}

export function creditsOfDay(
  steps: readonly ForecastStep[],
  now: Date,
  price: 'credits' | 'worst' = 'credits',
): number {
  const near = steps.filter(({ at }) => at <= now.getTime() + dayMs)
  return near.reduce((sum, step) => sum + step[price], 0)
}

function floorLine(steps: readonly ForecastStep[], until: Date, zone: string): string {
  const met = firstStop(steps)
  if (met !== null) {
    const { step, at } = met
    return `the credit floor is reached around ${formatMinute(zone, at)}: ${step.list} stops after ${formatNumber(step.bought)} of ${count(step.asked, 'query')}`
  }
  const unsure = steps.find(({ cut, sure }) => cut === null && !sure)
  const day = formatMinute(zone, until).slice(0, 10)
  return unsure === undefined
    ? `the credit floor is not reached before ${day}, even at the highest recent price`
    : `the credit floor is not reached before ${day} at recent prices; at the highest price, the run of ${unsure.list} at ${formatMinute(zone, new Date(unsure.at))} is not affordable`
}

/** Says how many credits to add, and when, so that the floor stops nothing before the next renewal. */
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

function budgetLines(steps: readonly ForecastStep[], zone: string): string[] {
  const short = steps.filter(({ cut }) => cut !== null && cut !== 'floor')
  const [first] = short
  if (first === undefined) return []
  const left = short.reduce((sum, { asked, bought }) => sum + asked - bought, 0)
  const when = formatMinute(zone, new Date(first.at))
  return [
    `budgets exclude ${count(left, 'query')}, first on ${when}, when ${first.list} stops after ${formatNumber(first.bought)} of ${formatNumber(first.asked)}`,
  ]
}

function firstStop(steps: readonly ForecastStep[]) {
  const step = steps.find(({ cut }) => cut === 'floor')
  return step === undefined ? null : { step, at: new Date(step.floorAt ?? step.at) }
}

export function forecastJson(found: CreditForecast) {
  const { outcome, isShorter: _, ...forecast } = found
  const steps = outcome.kind === 'known' ? outcome.steps : []
  return {
    ...forecast,
    missing: outcome.kind === 'unknown' ? outcome.missing : null,
    day_without_balance: outcome.kind === 'unknown' ? (outcome.day ?? null) : null,
    floor_at: firstStop(steps)?.at ?? null,
    steps: steps.map(({ at, floorAt, ...step }) => ({
      ...step,
      at: new Date(at),
      floor_at: floorAt === null ? null : new Date(floorAt),
    })),
  }
}
