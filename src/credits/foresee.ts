import { dueBetween, nextAfter, readCron, type Cron } from '../shared/time/cron.ts'
import { dayMs } from '../shared/time/duration.ts'
import { localDate } from '../shared/time/zone.ts'
import type { Origin } from '../store/answers/answer.ts'
import type { Database } from '../store/database.ts'
import { databaseNow } from '../store/nights/nights.ts'
import { readFunds, type Funds } from '../store/planning/prices.ts'
import { balanceAfter, readLatelyPaid, readPace, readSpent } from '../store/planning/lately.ts'
import { readListAllowances } from '../store/operator/budgets.ts'
import {
  readComing,
  readGroups,
  readOpenTasks,
  type Buyer,
  type ComingSchedule,
  type ListedGroup,
  type OpenTasks,
} from '../store/planning/prospect.ts'
import { costClass } from './account.ts'
import { forecast, type Forecast } from './forecast.ts'
import { monthsOf } from './months.ts'
import type { ComingNight, OpenWork, Prospect, QueryGroup } from './prospect.ts'

/** What an outlook is asked for. */
export interface OutlookOrder {
  readonly buyer: Buyer & { readonly origin: Origin }
  /** The floor of the settings; a worker's may be higher. */
  readonly floor: number
  readonly maxAgeMs: number
  readonly dailyBudget: number | null
  readonly monthlyBudget: number | null
  readonly renewal: Cron | null
  readonly zone: string
  readonly days: number
  /** Work that is only thought of. */
  readonly extra?: readonly OpenWork[]
}

/** What is to come, and what it rests on. */
export interface CreditOutlook {
  readonly now: Date
  readonly until: Date
  readonly balance: number | null
  readonly observedAt: Date | null
  readonly floor: number
  readonly perMinute: number | null
  readonly schedules: number
  /** The next renewal of the plan; null: none is set. */
  readonly renewal: { readonly at: Date; readonly balance: number | null } | null
  readonly forecast: Forecast
}

/** Reads what is open, scheduled, fresh and left, and says what it will come to. */
export async function foresee(db: Database, order: OutlookOrder): Promise<CreditOutlook> {
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
  const prospect: Prospect = {
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
    lists: await readListAllowances(db, today),
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
    renewal: renewals[0] ?? null,
    forecast: forecast(prospect),
  }
}

/** What was paid lately; a class that nobody bought in the newest calls costs what it ever cost at most. */
async function pricesOf(db: Database, buyer: Buyer, { costs }: Funds): Promise<Prospect['prices']> {
  const prices = new Map(
    costs.map(({ class: name, dearest }) => [name, { expected: dearest, worst: dearest }]),
  )
  for (const { class: name, expected, worst } of await readLatelyPaid(db, buyer)) {
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
  for (const { run, list, month, left, tasks: count, ...query } of tasks) {
    const classes = [...(runs.get(run)?.classes ?? []), { class: costClass(query), tasks: count }]
    runs.set(run, { run, list, month, left, classes })
  }
  return [...runs.values()]
}

function nightsOf(
  coming: ComingSchedule,
  { maxAgeMs }: OutlookOrder,
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
  }))
}

/** A renewal brings what the last one brought: the plan is filled up, whatever was left. */
async function renewalsOf(
  db: Database,
  { renewal, zone, buyer }: OutlookOrder,
  { now, until }: { readonly now: Date; readonly until: Date },
): Promise<readonly { readonly at: Date; readonly balance: number | null }[]> {
  if (renewal === null) return []
  const past = dueBetween(renewal, zone, {
    after: new Date(now.getTime() - 62 * dayMs),
    until: now,
  })
  const last = past.at(-1)
  const balance = last === undefined ? null : await balanceAfter(db, buyer, last.at)
  const dues = dueBetween(renewal, zone, { after: now, until }).map(({ at }) => at)
  const next = dues.length > 0 ? dues : [nextAfter(renewal, zone, now)].filter((at) => at !== null)
  return next.map((at) => ({ at, balance }))
}
