// Computes the cost of open runs and future nights. All rules are pure functions.

import { priorities } from '../../base/query.ts'
import { dayMs, dayNumber } from '../../base/time/zone.ts'
import type { readAllListBudgets } from '../ledger/account.ts'
import type { OpenWork } from '../ledger/prices.ts'

/** Result of a forecast. The result is `unknown` if the balance or the price of a class is missing. */
export type Forecast =
  | { readonly kind: 'known'; readonly steps: readonly ForecastStep[] }
  | {
      readonly kind: 'unknown'
      readonly missing: 'balance' | 'prices'
      /** Cost of the next 24 hours, ignoring all limits, if the prices are known. */
      readonly day?: { readonly credits: number; readonly worst: number }
    }

/** Computes the cost of open work and future nights in chronological order, and the time when credits run out. */
export function forecastOf(input: ForecastInput): Forecast {
  const { balance, prices, open, groups } = input
  const classes = [
    ...open.flatMap((work) => work.classes.map((one) => one.class)),
    ...groups.map((group) => group.class),
  ]
  const priced = classes.every((name) => prices.has(name))
  if (balance === null) {
    const day = priced ? { day: dayOfUnknown(input) } : {}
    return { kind: 'unknown', missing: 'balance', ...day }
  }
  if (!priced) return { kind: 'unknown', missing: 'prices' }
  const dear = new Map(walk(input, balance, 'worst').map((step) => [nameOf(step), step]))
  const steps = walk(input, balance, 'expected').map((step): ForecastStep => {
    const same = dear.get(nameOf(step))
    return {
      ...step,
      worst: same?.credits ?? step.credits,
      sure: step.cut === null && same?.cut === null,
    }
  })
  return { kind: 'known', steps }
}

function dayOfUnknown(input: ForecastInput) {
  const sum = (price: PriceKind) =>
    walk(input, Infinity, price)
      .filter(({ at }) => at <= input.now + dayMs)
      .reduce((total, { credits }) => total + credits, 0)
  return { credits: sum('expected'), worst: sum('worst') }
}

function nameOf({ kind, name, at }: Step): string {
  return `${kind} ${name} ${at}`
}

function walk(input: ForecastInput, balance: number, price: PriceKind): readonly Step[] {
  const spending = new Spending(input, balance, price)
  const known = input.groups.map(knownGroup)
  for (const work of input.open) spending.buyOpen(work)
  const events = [
    ...input.renewals.map((renewal) => ({ kind: 'renewal' as const, ...renewal })),
    ...input.nights.map((night) => ({ kind: 'night' as const, ...night })),
  ].toSorted((a, b) => a.at - b.at || urgencyOf(a) - urgencyOf(b))
  for (const [at, event] of events.entries()) {
    if (event.kind === 'night') {
      // The events are sorted, so competing nights are adjacent.
      let end = at + 1
      while (isRival(events[end], event)) end += 1
      spending.buyNight(event, known, shareAmong(event, events.slice(at, end)))
    } else if (event.balance === null) break
    else spending.renew(event.at, event.balance)
  }
  return spending.steps
}

/** Orders simultaneous events: renewals first, then nights by priority. */
function urgencyOf(event: { readonly kind: string; readonly priority?: number }): number {
  return event.kind === 'renewal' ? 0 : (event.priority ?? priorities.usual)
}

/** True if both nights have the same due time and priority, so they split the credits by their lists' shares. */
function isRival(one: Partial<ComingNight> | undefined, night: ComingNight): boolean {
  const priority = one?.priority ?? priorities.usual
  return one?.at === night.at && priority === (night.priority ?? priorities.usual)
}

/** Share of the credits for a night if other nights with the same time and priority also have queries to buy. */
function shareAmong(night: ComingNight, rivals: readonly Partial<ComingNight>[]): number {
  const all = rivals.reduce((sum, { part }) => sum + (part ?? 0), 0)
  return all === 0 ? 1 : (night.part ?? 0) / all
}

export type Cut = 'budget' | 'list' | 'day' | 'month' | 'floor'

/** Queries with the same lists, intervals and price class that were bought at the same time. */
export interface QueryGroup {
  readonly lists: readonly number[]
  readonly queries: number
  readonly class: string
  /** Minute in which the newest answer was received; null if there is no answer. */
  readonly answeredAt: number | null
  /** Run date of the newest answer; unknown unless a list or a cadence sets an interval. */
  readonly answeredOn?: string | null
  /** Intervals and maximum ages from lists and cadences; null if there are none. */
  readonly wishes?: readonly QueryInterval[] | null
}

interface QueryInterval {
  readonly list: number
  readonly everyDays: number | null
  readonly maxAgeMs: number | null
  readonly dueOn: string | null
  readonly intervalDays: number | null
}

export interface ComingNight {
  readonly schedule: string
  readonly list: number
  readonly listName: string
  readonly at: number
  readonly day: string
  readonly adaptive: boolean
  readonly budget: number | null
  readonly maxAgeMs: number
  /** True if the tasks left over from an older night are bought first. */
  readonly keepsOld: boolean
  /** Priority, from 1 (bought first) to 9 (bought last). The default is 5. */
  readonly priority?: number
  /** Share of a night's credits for the list if credits run short. Absent or null if no list has a share. */
  readonly part?: number | null
}

export interface ForecastInput {
  readonly now: number
  /** Credits left after calls in flight are paid; null if no balance is known. */
  readonly balance: number | null
  readonly floor: number
  /** Recent average and maximum price of a query, by price class. */
  readonly prices: ReadonlyMap<string, Readonly<Record<PriceKind, number>>>
  readonly perMinute: number | null
  readonly dailyBudget: number | null
  readonly dayOf: (at: number) => string
  readonly spentToday: number
  readonly monthlyBudget: number | null
  readonly monthOf: (at: number) => string
  readonly spentThisMonth: number
  /** Budget and used credits of each list, by month. */
  readonly lists: Awaited<ReturnType<typeof readAllListBudgets>>
  readonly open: readonly OpenWork[]
  readonly groups: readonly QueryGroup[]
  readonly nights: readonly ComingNight[]
  /** Plan renewals, each with the balance after the renewal. The balance is null while it is unknown. */
  readonly renewals: readonly { readonly at: number; readonly balance: number | null }[]
}

export interface ForecastStep {
  readonly kind: 'run' | 'night' | 'renewal'
  /** Id of the run, or name of the schedule. */
  readonly name: string
  readonly list: string
  readonly at: number
  /** Number of queries to buy, and number of queries that are skipped or have a recent enough answer. */
  readonly asked: number
  readonly fresh: number
  /** Number of queries that the budget and the floor allow. */
  readonly bought: number
  readonly credits: number
  /** Cost in credits if every query costs the highest price. */
  readonly worst: number
  readonly after: number
  readonly cut: Cut | null
  /** True if the run or night can be completed even at the highest price. */
  readonly sure: boolean
  readonly floorAt: number | null
}

type Step = Omit<ForecastStep, 'worst' | 'sure'>

type PriceKind = 'expected' | 'worst'

/** Tasks left over from a run or night when credits run out, in buying order. */
interface Leftover {
  readonly step: Step
  readonly list: number | null
  readonly budget: number | null
  readonly portions: ReadonlyMap<string, number>
  readonly month: string
  /** Day or month whose budget is used up; buying resumes when it ends. Null if tasks wait for credits. */
  readonly waits: string | null
}

class Spending {
  readonly steps: Step[] = []
  readonly #input: ForecastInput
  readonly #price: PriceKind
  /** Credits used so far, by day, by month, and by list and month. */
  readonly #spent = new Map<string, number>()
  #balance: number
  #left: Leftover[] = []

  constructor(input: ForecastInput, balance: number, price: PriceKind) {
    this.#input = input
    this.#price = price
    this.#balance = balance
    const { now, dayOf, monthOf } = input
    this.#spent.set(`day ${dayOf(now)}`, input.spentToday)
    this.#spent.set(`month ${monthOf(now)}`, input.spentThisMonth)
    for (const { list, month, gone } of input.lists) this.#spent.set(`list ${list} ${month}`, gone)
  }

  buyOpen({ run, list, month, left, classes }: OpenWork): void {
    const portions = new Map(classes.map(({ class: name, tasks }) => [name, tasks]))
    const about = { kind: 'run', name: String(run), list, at: this.#input.now, fresh: 0 } as const
    this.#buy(about, { list: null, month, budget: left, portions })
  }

  buyNight(night: ComingNight, known: readonly KnownGroup[], part: number): void {
    // A night replaces an older night of its list, unless the schedule keeps every night.
    if (!night.keepsOld) this.#left = this.#left.filter(({ list }) => list !== night.list)
    const { dayOf, monthOf } = this.#input
    const now = [dayOf(night.at), monthOf(night.at)]
    if (this.#left.some(({ waits }) => waits !== null && !now.includes(waits))) {
      this.#buyLeft(night.at)
    }
    const { fresh, portions } = askNight(known, night, this.#balance > this.#input.floor)
    const { schedule: name, listName: list, at } = night
    const about = { kind: 'night' as const, name, list, at, fresh }
    const rest = { list: night.list, month: dayOf(at).slice(0, 7), budget: night.budget, portions }
    this.#buy(about, rest, part)
  }

  /** Sets the balance to the plan's credits. Leftover tasks are bought first. */
  renew(at: number, balance: number): void {
    this.#balance = balance
    const none = { asked: 0, fresh: 0, bought: 0, credits: 0, cut: null, floorAt: null }
    this.steps.push({ kind: 'renewal', name: '', list: '', at, ...none, after: balance })
    this.#buyLeft(at)
  }

  #buyLeft(at: number): void {
    const waiting = this.#left
    this.#left = []
    for (const { step, ...rest } of waiting) this.#buy({ ...step, at, fresh: 0 }, rest)
  }

  #buy(
    about: Pick<Step, 'kind' | 'name' | 'list' | 'at' | 'fresh'>,
    { list, month, budget, portions }: Omit<Leftover, 'step' | 'waits'>,
    part = 1,
  ): void {
    const { dayOf, monthOf, perMinute, ...input } = this.#input
    const today = `day ${dayOf(about.at)}`
    const thisMonth = `month ${monthOf(about.at)}`
    const ofList = `list ${about.list} ${month}`
    const most = input.lists.find((one) => one.list === about.list)?.budget ?? null
    const limits = {
      budget: budget ?? Infinity,
      list: this.#leftOf(ofList, most),
      day: this.#leftOf(today, input.dailyBudget),
      month: this.#leftOf(thisMonth, input.monthlyBudget),
      floor: Math.max(0, this.#balance - input.floor) * part,
    }
    const limit = Math.min(...Object.values(limits))
    const { bought, credits, rest } = this.#spend(portions, limit)
    this.#balance -= credits
    for (const name of [today, thisMonth, ofList]) {
      this.#spent.set(name, (this.#spent.get(name) ?? 0) + credits)
    }
    const asked = [...portions.values()].reduce((sum, queries) => sum + queries, 0)
    const cut = rest.size === 0 ? null : tightest(limits)
    const minutes = perMinute === null ? 0 : bought / perMinute
    const step: Step = {
      ...about,
      ...{ asked, bought, cut },
      credits: Math.round(credits),
      after: Math.round(this.#balance),
      floorAt: cut === 'floor' ? about.at + minutes * 60_000 : null,
    }
    this.steps.push(step)
    // Tasks that exceed the budget of their run or list end as unaffordable. Tasks that exceed any other limit wait.
    if (cut === null || cut === 'budget' || cut === 'list') return
    const left = budget === null ? null : budget - credits
    const waits = cut === 'day' ? dayOf(about.at) : cut === 'month' ? monthOf(about.at) : null
    this.#left.push({ step, list, month, budget: left, portions: rest, waits })
  }

  #leftOf(name: string, budget: number | null): number {
    return Math.max(0, (budget ?? Infinity) - (this.#spent.get(name) ?? 0))
  }

  #spend(portions: ReadonlyMap<string, number>, limit: number) {
    let bought = 0
    let credits = 0
    const rest = new Map<string, number>()
    for (const [name, queries] of portions) {
      const each = this.#input.prices.get(name)?.[this.#price] ?? 0
      // Allows for rounding errors in sums of fractions.
      const many = each === 0 ? queries : Math.floor((limit - credits) / each + 1e-9)
      const some = Math.max(0, Math.min(queries, many))
      bought += some
      credits += some * each
      if (some < queries) rest.set(name, queries - some)
    }
    return { bought, credits, rest }
  }
}

type KnownGroup = ReturnType<typeof knownGroup>

/** Tracks when queries were last bought, including purchases that the forecast assumes. */
function knownGroup(group: QueryGroup) {
  return {
    group,
    answeredAt: group.answeredAt,
    /** Number of the day for which the queries were last bought. */
    answeredDay: numberOf(group.answeredOn),
    /** Number of the next day on which the queries are due, for each list with a cadence. */
    dueDays: new Map(group.wishes?.map((interval) => [interval.list, dueDayOf(group, interval)])),
  }
}

/** Counts the queries in a night's list that must be bought; marks them as answered if `bought` is true. */
function askNight(groups: readonly KnownGroup[], night: ComingNight, bought: boolean) {
  const portions = new Map<string, number>()
  let fresh = 0
  for (const known of groups) {
    const { group } = known
    if (!group.lists.includes(night.list)) continue
    const interval = group.wishes?.find(({ list }) => list === night.list)
    if (isNotDue(known, interval, night)) fresh += group.queries
    else {
      portions.set(group.class, (portions.get(group.class) ?? 0) + group.queries)
      if (bought) noteBought(known, interval, night)
    }
  }
  return { fresh, portions }
}

/** True for queries that are skipped on this night or that have a recent enough answer. */
function isNotDue(
  { answeredAt, answeredDay, dueDays }: KnownGroup,
  interval: QueryInterval | undefined,
  { list, at, day, adaptive, maxAgeMs }: ComingNight,
): boolean {
  if (answeredAt === null) return false
  if (answeredAt > at - (interval?.maxAgeMs ?? maxAgeMs)) return true
  const tonight = dayNumber(day)
  const every = interval?.everyDays ?? null
  // An explicit interval takes precedence over an interval derived from the history.
  if (every !== null) return answeredDay !== null && answeredDay + every > tonight
  const due = adaptive && (interval?.maxAgeMs ?? null) === null ? dueDays.get(list) : undefined
  return due !== undefined && due > tonight
}

function noteBought(
  known: KnownGroup,
  interval: QueryInterval | undefined,
  { list, at, day }: ComingNight,
): void {
  known.answeredAt = at
  known.answeredDay = dayNumber(day)
  const days = interval?.intervalDays ?? null
  if (days !== null) known.dueDays.set(list, known.answeredDay + days)
}

/** The cadence's next due day. If an answer arrived on or after that day, the interval starts on the answer's day. */
function dueDayOf({ answeredOn }: QueryGroup, { dueOn, intervalDays }: QueryInterval): number {
  const due = numberOf(dueOn)
  const answered = numberOf(answeredOn)
  if (due === null) return -Infinity
  return answered === null || answered < due ? due : answered + (intervalDays ?? 1)
}

function numberOf(day: string | null | undefined): number | null {
  return day === null || day === undefined ? null : dayNumber(day)
}

function tightest(limits: Readonly<Record<Cut, number>>): Cut {
  const order = ['budget', 'list', 'month', 'day', 'floor'] as const
  return order.reduce((least, name) => (limits[name] < limits[least] ? name : least))
}
