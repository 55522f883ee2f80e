// Decides which tasks may be bought now, and why the others may not. All rules are pure.

import type { Database } from '../../base/database/database.ts'
import { type Account, constants, lowestBalance } from './account.ts'
import type { Books } from './books.ts'
import { type Bound, boundOf, type Cost, type Costs, dearestOfAll, unknownCost } from './prices.ts'
import { accountOf } from './settle.ts'
import { countMoreUrgent, type ListPurse, type WaitingTask } from './waiting.ts'

const soon = 100
/** Calls whose slots are this close together start together, so that lanes are filled in groups. */
const rateSlackMs = 20

/** Decides which of these calls may be made. A pure function, used both by the mill and by its test model. */
export function admit(
  account: Account,
  costs: Costs,
  {
    asks,
    purses,
    rules,
  }: { asks: readonly Ask[]; purses: ReadonlyMap<number, RunPurse>; rules: Rules },
): Admission {
  const gate = new Gate({ account, costs, purses, rules })
  const closed = closedBy(account, rules)
  if (closed !== null) return gate.decide(closed)
  for (const ask of asks) {
    if (gate.full()) break
    gate.consider(ask)
  }
  return gate.decide(asks.length === gate.grants.length ? { kind: 'none' } : gate.rest())
}

class Gate {
  readonly grants: Grant[] = []
  readonly #purses: Map<number, RunPurse>
  readonly #costs: Map<string, Cost>
  readonly #obstacles = new Set<Obstacle>()
  readonly #spentRuns = new Map<number, Obstacle>()
  readonly #rules: Rules
  #account: Account
  #single = false
  #rateWait = 0
  #probeWait = 0

  constructor({ account, costs, purses, rules }: Standing) {
    this.#account = inPeriod(account, rules)
    this.#costs = new Map(costs)
    this.#purses = new Map(purses)
    this.#rules = rules
  }

  /** True if no more calls may go out in this group. */
  full(): boolean {
    return this.#single || this.#rateWait > 0
  }

  consider(ask: Ask): void {
    if (this.#spentRuns.has(ask.run)) return
    if (!this.#rateAllows()) return
    const obstacle = this.#crowded() ? 'crowd' : this.#tryCredit(ask)
    if (obstacle === null) return
    this.#obstacles.add(obstacle)
    if (isSpent(obstacle)) this.#spentRuns.set(ask.run, obstacle)
  }

  rest(): Rest {
    if (this.#rateWait > 0) return { kind: 'wait', ms: this.#rateWait }
    // The result of a call in flight may change the decision, so decide nothing final until it is back.
    if (this.#account.inFlight > 0) return { kind: 'wait', ms: soon }
    if (this.#obstacles.has('urgent')) return { kind: 'yield' }
    const spent = budgetStop(this.#account, this.#rules, this.#obstacles)
    if (spent !== null) return spent
    if (this.#obstacles.has('floor')) return this.#floorStop()
    return { kind: 'wait', ms: soon }
  }

  decide(rest: Rest): Admission {
    return {
      account: this.#account,
      costs: this.#costs,
      grants: this.grants,
      rest,
      spentRuns: [...this.#spentRuns.keys()],
      spentByList: [...this.#spentRuns].flatMap(([run, by]) => (by === 'list_spent' ? [run] : [])),
      affordable: this.#affordable(),
      external: externalPerCall(this.#account, this.#single),
    }
  }

  get #standing(): Standing {
    const rules = this.#rules
    return { account: this.#account, costs: this.#costs, purses: this.#purses, rules }
  }

  #crowded(): boolean {
    return this.#account.inFlight >= (this.#rules.mostInFlight ?? Number.POSITIVE_INFINITY)
  }

  #tryCredit(ask: Ask): Obstacle | null {
    if (!this.#rules.counts) return this.#grant(ask, 0)
    const bound = boundOf(this.#costs, ask.class)
    // For a cost class never seen before, one call goes out first to find out the price; the others wait for it.
    if (bound.unseen && this.#costs.get(ask.class)?.trying === true) return 'class'
    const obstacle = obstacleTo(this.#standing, ask, { bound, size: bound.among, alone: false })
    if (obstacle === null) return this.#grant(ask, bound.among)
    const waits = this.#account.inFlight > 0 && isTrusted(this.#account, this.#rules)
    if (waits || isSpent(obstacle)) return obstacle
    const alone = obstacleTo(this.#standing, ask, { bound, size: bound.alone, alone: true })
    if (alone === null) return this.#grantAlone(ask, bound.alone)
    if (alone === 'floor' && this.#mayProbe(bound.alone)) return this.#grantProbe(ask, bound.alone)
    return alone
  }

  #mayProbe(bound: number): boolean {
    if (this.#account.probeGranted) return true
    if (!isProbeDue(this.#account, bound, this.#rules)) return false
    this.#probeWait = probePause(this.#account, this.#rules.now)
    return this.#probeWait === 0
  }

  #grantAlone(ask: Ask, bound: number): null {
    this.#single = true
    return this.#grant(ask, bound)
  }

  #grantProbe(ask: Ask, bound: number): null {
    const { drainedFloor, blindCalls } = this.#account
    this.#grant(ask, bound, true)
    this.#account = {
      ...this.#account,
      drainedFloor,
      blindCalls: Math.min(blindCalls + 1, constants.blindCalls),
      lastProbeAt: this.#rules.now,
    }
    return null
  }

  #grant(ask: Ask, bound: number, probe = false): null {
    const account = this.#account
    const { task, run, class: name } = ask
    const seq = account.seq + 1
    this.grants.push({ task, run, class: name, bound, seq, startTotal: account.usedTotal, probe })
    this.#account = {
      ...account,
      seq,
      reserved: account.reserved + bound,
      inFlight: account.inFlight + 1,
      drainedFloor: null,
      probeGranted: false,
      rateNextAt: this.#nextStart(),
    }
    takeFrom(this.#purses, run, bound)
    this.#markTrying(name)
    return null
  }

  #markTrying(name: string): void {
    const cost = this.#costs.get(name)
    if (cost !== undefined && cost.seen > 0) return
    this.#costs.set(name, { ...unknownCost, trying: true })
  }

  #rateAllows(): boolean {
    const ahead = (this.#account.rateNextAt ?? 0) - this.#rules.now
    if (this.#rules.rateLimit === null || ahead <= rateSlackMs) return true
    this.#rateWait = Math.ceil(ahead)
    return false
  }

  #nextStart(): number | null {
    const { rateLimit, now } = this.#rules
    if (rateLimit === null) return null
    return Math.max(this.#account.rateNextAt ?? 0, now) + 1000 / rateLimit
  }

  #floorStop(): Rest {
    if (this.#probeWait > 0) return { kind: 'wait', ms: Math.ceil(this.#probeWait) }
    this.#account = { ...this.#account, drainedFloor: this.#rules.floor }
    return floorStop(this.#account, this.#rules)
  }

  #affordable(): number {
    if (!this.#rules.counts) return Number.MAX_SAFE_INTEGER
    const room = roomFor(this.#standing, { calls: 0, alone: false })
    const dearest = dearestOfAll(this.#costs)?.alone ?? constants.firstBound
    const each = dearest + externalPerCall(this.#account, false)
    return room === null ? 1 : Math.max(1, Math.floor(room / each) + this.#account.inFlight)
  }
}

/** A task waiting to be bought. */
export interface Ask {
  readonly task: number
  readonly class: string
  readonly run: number
  /** Open tasks elsewhere that are more urgent; counted only while credit is scarce. */
  readonly urgentElsewhere: number
}

/** Budget of a run, and of its list for the month of the run; null if the list has no budget. */
export interface RunPurse {
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
  readonly list: ListPurse | null
}

/** Inputs of the decision other than the account. */
export interface Rules {
  readonly now: number
  /** Credit floor. */
  readonly floor: number
  /** False for a test account, which never stops for credit. */
  readonly counts: boolean
  /** Fingerprint of the API key to be used. */
  readonly key: string
  readonly dailyBudget: number | null
  readonly day: string
  readonly dayEnds: number
  readonly monthlyBudget: number | null
  /** First day of the current budget month. */
  readonly month: string
  readonly monthEnds: number
  /** Calls per second across all workers. */
  readonly rateLimit: number | null
  /** Maximum calls in flight across all workers. */
  readonly mostInFlight: number | null
  /** Returns the first plan renewal after a time; null if renewals are unknown. */
  readonly renewalAfter: (time: number) => number | null
}

/** Permission for one call, with the credits reserved for it. */
export interface Grant {
  readonly task: number
  readonly run: number
  readonly class: string
  readonly bound: number
  readonly seq: number
  readonly startTotal: number
  readonly probe: boolean
}

type StopReason = 'credit_floor' | 'budget' | 'auth' | 'rate'

/** Next step for tasks that got no reservation. */
export type Rest =
  | { readonly kind: 'none' }
  /** Wait for calls in flight, whose results may change the decision. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Yield to more urgent tasks elsewhere in the queue. */
  | { readonly kind: 'yield' }
  | {
      readonly kind: 'stop'
      readonly reason: StopReason
      readonly until: number | null
      readonly detail: string
    }

export interface Admission {
  readonly account: Account
  readonly costs: Costs
  readonly grants: readonly Grant[]
  readonly rest: Rest
  /** Runs whose own budget, or whose list's budget, is spent: their open tasks are unaffordable. */
  readonly spentRuns: readonly number[]
  /** The runs among them whose list has spent its budget. */
  readonly spentByList: readonly number[]
  /** Number of calls that the balance would allow right now. */
  readonly affordable: number
  /** Expected balance drop per call in flight in excess of its bill. */
  readonly external: number
}

/** Reason for rejecting an ask. */
type Obstacle =
  | 'class'
  | 'urgent'
  | 'purse'
  | 'run_spent'
  | 'list_spent'
  | 'day'
  | 'month'
  | 'crowd'
  | 'floor'

/** State that the limits depend on, between two asks. */
interface Standing {
  readonly account: Account
  readonly costs: Costs
  readonly purses: ReadonlyMap<number, RunPurse>
  readonly rules: Rules
}

/** Returns the reason why no call at all may go out; null if there is none. */
function closedBy(
  { blockedKeys, foreignKeys, notBefore }: Account,
  { key, now }: Rules,
): Rest | null {
  if (foreignKeys.includes(key)) {
    const detail =
      'this key tells a balance that cannot be the one of this account, and another key of the account is in use; set MILL_ACCOUNT to another name for it, or type: npm run resume'
    return { kind: 'stop', reason: 'auth', until: null, detail }
  }
  if (blockedKeys.includes(key)) {
    const detail = 'the API refused the key; set another SEARCH_API_KEY, or type: npm run resume'
    return { kind: 'stop', reason: 'auth', until: null, detail }
  }
  if (notBefore !== null && now < notBefore) {
    const detail = 'the API asked to slow down'
    return { kind: 'stop', reason: 'rate', until: notBefore, detail }
  }
  return null
}

/**
 * Returns the limit that a call of this size would exceed: the budget of its run, its list, the day or the month, the
 * floor, or more urgent tasks.
 */
function obstacleTo(
  { account, costs, purses, rules }: Standing,
  ask: Ask,
  { bound, size, alone }: { bound: Bound; size: number; alone: boolean },
): Obstacle | null {
  const purse = purses.get(ask.run)
  const short = (one: Drawn) => !carries(one, bound, size)
  if (purse !== undefined && short(purse)) return purse.reserved === 0 ? 'run_spent' : 'purse'
  const list = purse?.list ?? null
  if (list !== null && short(list)) return list.reserved === 0 ? 'list_spent' : 'purse'
  const { reserved, daySpent, monthSpent } = account
  if (short({ budget: rules.monthlyBudget, spent: monthSpent, reserved })) return 'month'
  if (short({ budget: rules.dailyBudget, spent: daySpent, reserved })) return 'day'
  const room = roomFor({ account, costs, purses, rules }, { calls: 1, alone })
  if (room === null || room < size) return 'floor'
  return room < size * (1 + ask.urgentElsewhere) ? 'urgent' : null
}

/** A budget and the amount drawn from it. */
interface Drawn {
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
}

function carries({ budget, spent, reserved }: Drawn, bound: Bound, size: number): boolean {
  if (budget === null) return true
  const left = budget - spent - reserved
  return left >= need(bound, size, { left, idle: reserved === 0 })
}

/**
 * The first call drawn from a budget only needs the smaller bound; if the price is still unknown, it may use what is
 * left.
 */
function need(bound: Bound, size: number, { left, idle }: { left: number; idle: boolean }): number {
  if (!idle) return size
  return bound.unseen && left > 0 ? Math.min(bound.alone, left) : bound.alone
}

/** Credits provably free above the floor; null if a new balance is needed first. */
function roomAbove(account: Account, costs: Costs, rules: Rules): number | null {
  const { floor } = rules
  const low = lowestBalance(account)
  if (low === null || isStale(account, rules)) return null
  const { drainedFloor } = account
  const drained = drainedFloor !== null && floor >= drainedFloor
  const kept = drained ? constants.hysteresis * (dearestOfAll(costs)?.alone ?? 0) : 0
  return low - floor - constants.margin - kept
}

/** The same for this many further calls, allowing for a balance drop in excess of each bill. */
function roomFor(
  { account, costs, rules }: Standing,
  { calls, alone }: { readonly calls: number; readonly alone: boolean },
): number | null {
  const room = roomAbove(account, costs, rules)
  const external = externalPerCall(account, alone)
  return room === null ? null : room - external * (account.inFlight + calls)
}

/** A call that goes out alone ignores external spend seen in only one of the two windows. */
function externalPerCall({ external: { now, last } }: Account, alone: boolean): number {
  return alone ? Math.min(now, last ?? now) : Math.max(now, last ?? 0)
}

/**
 * True if a lot may have been spent since the balance was reported, by others or in a period missing from the books.
 */
function isStale(account: Account, rules: Rules): boolean {
  const { seen } = account
  if (seen === null) return false
  const old = rules.now - seen.at > constants.oldestSightingMs
  return old || seen.doubted === true || !isTrusted(account, rules)
}

/** A balance applies only to the keys that received it. */
function isTrusted({ keys }: Account, { key }: Rules): boolean {
  return keys.length === 0 || keys.includes(key)
}

/**
 * True if a call may go out alone to learn the balance although no room is proved: the balance is unknown, old or
 * renewed.
 */
function isProbeDue(account: Account, bound: number, rules: Rules): boolean {
  const { seen, blindCalls } = account
  if (seen === null && blindCalls < constants.blindCalls) return true
  const low = lowestBalance(account)
  const fits = low !== null && low - bound >= rules.floor + constants.margin
  if (fits && isStale(account, rules)) return true
  return hasRenewed(account, rules)
}

/** True if the plan renewed after the balance was last reported. Allows a few tries, then one per renewal. */
function hasRenewed({ seen, lastProbeAt, blindCalls }: Account, rules: Rules): boolean {
  const tried = blindCalls < constants.blindCalls ? 0 : (lastProbeAt ?? 0)
  const renewal = rules.renewalAfter(Math.max(seen?.at ?? 0, tried))
  return renewal !== null && renewal <= rules.now
}

/** Milliseconds until the next probe. Grows with each probe to give a failing API time to recover. */
function probePause({ lastProbeAt, blindCalls }: Account, now: number): number {
  if (lastProbeAt === null) return 0
  const pause = constants.probePauseMs * 2 ** Math.max(0, blindCalls - 1)
  return Math.max(0, lastProbeAt + pause - now)
}

/** Describes the stop at the floor for people. */
function floorStop(account: Account, { floor, now, renewalAfter }: Rules): Rest {
  const { seen, lastProbeAt, uncertain } = account
  const held = uncertain > 0 ? `, ${uncertain} of them held for calls nobody could read` : ''
  return {
    kind: 'stop',
    reason: 'credit_floor',
    until: renewalAfter(Math.max(now, lastProbeAt ?? 0)),
    detail:
      seen === null
        ? 'no balance could be read yet; type: npm run resume'
        : `${seen.remaining} credits were left, the floor is ${floor}: another call might cross it${held}`,
  }
}

/** True if no call in flight can free credits any more, so that the run's open tasks are unaffordable. */
function isSpent(obstacle: Obstacle): boolean {
  return obstacle === 'run_spent' || obstacle === 'list_spent'
}

/** Reserves credits for a call of a run, in every run that shares its list's budget. */
function takeFrom(purses: Map<number, RunPurse>, run: number, bound: number): void {
  const key = purses.get(run)?.list?.key
  for (const [id, { list, ...purse }] of purses) {
    const shares = list !== null && list.key === key
    purses.set(id, {
      ...purse,
      reserved: purse.reserved + (id === run ? bound : 0),
      list: shares ? { ...list, reserved: list.reserved + bound } : list,
    })
  }
}

/** The account, rolled over to the day and month of the rules. */
function inPeriod(account: Account, { day, month }: Rules): Account {
  // Never moves back: otherwise workers in different zones would start the same day again and again.
  const newDay = account.day === null || day > account.day
  const newMonth = account.month === null || month > account.month
  return {
    ...account,
    ...(newDay ? { day, daySpent: 0 } : {}),
    ...(newMonth ? { month, monthSpent: 0 } : {}),
  }
}

/** The stop at the monthly or daily budget; null if neither blocks a call. */
function budgetStop(
  { daySpent, monthSpent }: Account,
  { dailyBudget, dayEnds, monthlyBudget, monthEnds }: Rules,
  obstacles: ReadonlySet<Obstacle>,
): Rest | null {
  if (obstacles.has('month')) {
    const detail = `the budget of the month is used: ${monthSpent} of ${monthlyBudget} credits; raise MILL_MONTHLY_BUDGET, or wait for the next month`
    return { kind: 'stop', reason: 'budget', until: monthEnds, detail }
  }
  if (!obstacles.has('day')) return null
  const detail = `the budget of the day is used: ${daySpent} of ${dailyBudget} credits; raise MILL_DAILY_BUDGET, or wait for the next day`
  return { kind: 'stop', reason: 'budget', until: dayEnds, detail }
}

/** A task held by a worker. */
export interface Wanted {
  readonly task: number
  readonly class: string
  readonly priority: number
}

/** A task that may be bought now. */
interface Ready extends Wanted {
  readonly run: number
}

/** Tasks grouped by the outcome of the admission check. */
export interface Sorted {
  readonly ready: readonly Ready[]
  readonly gone: number[]
  readonly later: number[]
  readonly reused: { task: number; search: number }[]
}

/** Discards work that was delivered twice: the database decides what is still to be bought. */
export function sortTasks(
  wanted: readonly Wanted[],
  found: ReadonlyMap<number, WaitingTask>,
): Sorted {
  const ready: Ready[] = []
  const sorted: Sorted = { ready, gone: [], later: [], reused: [] }
  const asked = new Set<string>()
  for (const want of wanted) {
    const task = found.get(want.task)
    if (task === undefined || task.state !== 'open' || !task.run_open) sorted.gone.push(want.task)
    else if (task.busy || !task.due || asked.has(task.query_id)) sorted.later.push(want.task)
    else if (task.fresh !== null) {
      sorted.reused.push({ task: want.task, search: task.fresh })
      sorted.gone.push(want.task)
    } else {
      asked.add(task.query_id)
      ready.push({ ...want, run: task.run_id })
    }
  }
  ready.sort((a, b) => a.priority - b.priority)
  return sorted
}

/** Credit is scarce if fewer calls than this fit above the floor. Only then is urgency considered. */
const scarce = 1_000

/** Priorities for which credit is scarce, so that more urgent tasks elsewhere have to be counted. */
export function scarcePriorities(
  ready: readonly Ready[],
  { costs, books, rules }: { costs: Costs; books: Books; rules: Rules },
): readonly number[] {
  const low = lowestBalance(accountOf(books.account))
  if (!rules.counts || low === null) return []
  const tight = ready.filter(({ class: name, priority }) => {
    return priority > 1 && low - rules.floor < scarce * boundOf(costs, name).alone
  })
  return [...new Set(tight.map(({ priority }) => priority))]
}

/** Counts the more urgent tasks elsewhere for each of these priorities. */
export async function countUrgent(
  db: Database,
  ready: readonly Ready[],
  priorities: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const except = ready.map(({ task }) => task)
  const counts = new Map<number, number>()
  for (const priority of priorities) {
    counts.set(priority, await countMoreUrgent(db, { priority, except, limit: scarce }))
  }
  return counts
}

/** Adds to each ask the number of more urgent tasks elsewhere. */
export function asksOf(ready: readonly Ready[], urgent: ReadonlyMap<number, number>): Ask[] {
  return ready.map(({ task, class: name, run, priority }) => ({
    task,
    class: name,
    run,
    urgentElsewhere: urgent.get(priority) ?? 0,
  }))
}
