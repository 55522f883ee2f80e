// Decides which tasks may be bought now, and why other tasks may not. All rules are pure functions.

import { npmRun } from '../../base/cli/commands.ts'
import { count, formatNumber } from '../../base/cli/text.ts'
import type { Config } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'
import { type Account, constants, lowestBalance } from './account.ts'
import type { Books } from './books.ts'
import { type Bound, boundOf, type Cost, type Costs, dearestOfAll, unknownCost } from './prices.ts'
import type { ListBudgetUse, WaitingTask } from './waiting.ts'

const soon = 100
/** Under a rate limit, calls may start this many milliseconds early, so that lanes are filled in groups. */
const rateSlackMs = 20

/** Decides which tasks may reserve credits. The model in the tests uses the same function. */
export function admit(
  account: Account,
  costs: Costs,
  {
    requests,
    budgets,
    rules,
  }: { requests: readonly CallRequest[]; budgets: ReadonlyMap<number, RunBudgetUse>; rules: Rules },
) {
  const check = new AdmissionCheck(account, costs, { budgets, rules })
  const stop = stopFor(account, rules)
  if (stop !== null) return check.decide(stop)
  for (const request of requests) {
    if (check.full()) break
    check.consider(request)
  }
  return check.decide(requests.length === check.grants.length ? { kind: 'none' } : check.deferral())
}

class AdmissionCheck {
  readonly grants: GrantedCall[] = []
  account: Account
  readonly costs: Map<string, Cost>
  readonly budgets: Map<number, RunBudgetUse>
  readonly rules: Rules
  readonly #limits = new Set<Limit>()
  readonly #spentRuns = new Map<number, Limit>()
  #single = false
  #rateWait = 0
  #probeWait = 0

  constructor(
    account: Account,
    costs: Costs,
    { budgets, rules }: { budgets: ReadonlyMap<number, RunBudgetUse>; rules: Rules },
  ) {
    this.account = inPeriod(account, rules)
    this.costs = new Map(costs)
    this.budgets = new Map(budgets)
    this.rules = rules
  }

  /** True if no more calls may be added to this group. */
  full(): boolean {
    return this.#single || this.#rateWait > 0
  }

  consider(request: CallRequest): void {
    if (this.#spentRuns.has(request.run)) return
    if (!this.#rateAllows()) return
    const full = this.account.inFlight >= (this.rules.mostInFlight ?? Number.POSITIVE_INFINITY)
    const limit = full ? 'in_flight' : this.#tryCredit(request)
    if (limit === null) return
    this.#limits.add(limit)
    if (isSpent(limit)) this.#spentRuns.set(request.run, limit)
  }

  deferral(): Deferral {
    if (this.#rateWait > 0) return { kind: 'wait', ms: this.#rateWait }
    // A call in flight may change the decision, so no final decision is made until the call ends.
    if (this.account.inFlight > 0) return { kind: 'wait', ms: soon }
    if (this.#limits.has('urgent')) return { kind: 'yield' }
    const spent = budgetStop(this.account, this.rules, this.#limits)
    if (spent !== null) return spent
    if (this.#limits.has('floor')) return this.#floorStop()
    return { kind: 'wait', ms: soon }
  }

  decide(deferral: Deferral) {
    return {
      account: this.account,
      costs: this.costs,
      grants: this.grants,
      deferral,
      /** Runs whose own budget or list budget is used up, so that their open tasks are unaffordable. */
      spentRuns: [...this.#spentRuns.keys()],
      /** Runs in `spentRuns` whose list has used up its budget. */
      spentByList: [...this.#spentRuns].flatMap(([run, by]) => (by === 'list_spent' ? [run] : [])),
      affordable: this.#affordable(),
      /** Expected external spend, in credits per call in flight. */
      external: externalPerCall(this.account, this.#single),
    }
  }

  #tryCredit(request: CallRequest): Limit | null {
    if (!this.rules.counts) return this.#grant(request, 0)
    const bound = boundOf(this.costs, request.class)
    // In a new price class, one call is sent first to learn the price. Other calls in the class wait for this call's
    // answer.
    if (bound.unseen && this.costs.get(request.class)?.trying === true) return 'class'
    const limit = this.#limitReached(request, { bound, size: bound.among, alone: false })
    if (limit === null) return this.#grant(request, bound.among)
    const waits = this.account.inFlight > 0 && isTrusted(this.account, this.rules)
    if (waits || isSpent(limit)) return limit
    const alone = this.#limitReached(request, { bound, size: bound.alone, alone: true })
    if (alone === null) {
      this.#single = true
      return this.#grant(request, bound.alone)
    }
    if (alone === 'floor' && this.#mayProbe(bound.alone))
      return this.#grantProbe(request, bound.alone)
    return alone
  }

  /** Returns the first limit that a call of `size` credits would exceed. */
  #limitReached(
    request: CallRequest,
    { bound, size, alone }: { bound: Bound; size: number; alone: boolean },
  ): Limit | null {
    const { budgets, rules } = this
    const use = budgets.get(request.run)
    const short = (one: BudgetUse) => !covers(one, bound, size)
    if (use !== undefined && short(use)) return use.reserved === 0 ? 'run_spent' : 'reserved'
    const list = use?.list ?? null
    if (list !== null && short(list)) return list.reserved === 0 ? 'list_spent' : 'reserved'
    const { reserved, daySpent, monthSpent } = this.account
    if (short({ budget: rules.monthlyBudget, spent: monthSpent, reserved })) return 'month'
    if (short({ budget: rules.dailyBudget, spent: daySpent, reserved })) return 'day'
    const room = this.#roomFor({ calls: 1, alone })
    if (room === null || room < size) return 'floor'
    return room < size * (1 + request.urgentElsewhere) ? 'urgent' : null
  }

  /** Credits that are certainly available for further calls; null if a new balance is needed first. */
  #roomFor({ calls, alone }: { readonly calls: number; readonly alone: boolean }): number | null {
    const { account, costs, rules } = this
    const { floor } = rules
    const low = lowestBalance(account)
    if (low === null || isStale(account, rules)) return null
    const { drainedFloor } = account
    const drained = drainedFloor !== null && floor >= drainedFloor
    const kept = drained ? constants.hysteresis * (dearestOfAll(costs)?.alone ?? 0) : 0
    return low - floor - kept - externalPerCall(account, alone) * (account.inFlight + calls)
  }

  #mayProbe(bound: number): boolean {
    const { probeGranted } = this.account
    if (!probeGranted && !isProbeDue(this.account, bound, this.rules)) return false
    this.#probeWait = probePause(this.account, this.rules.now)
    return this.#probeWait === 0
  }

  #grantProbe(request: CallRequest, bound: number): null {
    const { drainedFloor, probeGranted, blindCalls } = this.account
    this.#grant(request, bound, true)
    const made = Math.min(blindCalls + 1, constants.blindCalls)
    this.account = {
      ...this.account,
      drainedFloor,
      // A probe that reports no balance may be repeated.
      probeGranted: probeGranted && made < constants.blindCalls,
      blindCalls: made,
      lastProbeAt: this.rules.now,
    }
    return null
  }

  #grant(request: CallRequest, bound: number, probe = false): null {
    const account = this.account
    const { task, run, class: name } = request
    const seq = account.seq + 1
    this.grants.push({ task, run, class: name, bound, seq, startTotal: account.usedTotal, probe })
    this.account = {
      ...account,
      seq,
      reserved: account.reserved + bound,
      inFlight: account.inFlight + 1,
      drainedFloor: null,
      probeGranted: false,
      rateNextAt: this.#nextStart(),
    }
    takeFrom(this.budgets, run, bound)
    if ((this.costs.get(name)?.seen ?? 0) === 0) {
      this.costs.set(name, { ...unknownCost, trying: true })
    }
    return null
  }

  #rateAllows(): boolean {
    const ahead = (this.account.rateNextAt ?? 0) - this.rules.now
    if (this.rules.rateLimit === null || ahead <= rateSlackMs) return true
    this.#rateWait = Math.ceil(ahead)
    return false
  }

  #nextStart(): number | null {
    const { rateLimit, now } = this.rules
    if (rateLimit === null) return null
    return Math.max(this.account.rateNextAt ?? 0, now) + 1000 / rateLimit
  }

  #floorStop(): Deferral {
    if (this.#probeWait > 0) return { kind: 'wait', ms: Math.ceil(this.#probeWait) }
    this.account = { ...this.account, drainedFloor: this.rules.floor }
    return floorStop(this.account, this.rules)
  }

  /** Number of calls that the balance currently allows. */
  #affordable(): number {
    if (!this.rules.counts) return Number.MAX_SAFE_INTEGER
    const room = this.#roomFor({ calls: 0, alone: false })
    const dearest = dearestOfAll(this.costs)?.alone ?? constants.firstBound
    const each = dearest + externalPerCall(this.account, false)
    return room === null ? 1 : Math.max(1, Math.floor(room / each) + this.account.inFlight)
  }
}

/** A task that is waiting for a call. */
export interface CallRequest {
  readonly task: number
  readonly class: string
  readonly run: number
  /** Number of more urgent open tasks that this decision does not cover; counted only while credits are scarce. */
  readonly urgentElsewhere: number
}

/** Budgets of a run and of its list for the run's month. `list` is null if the list has no budget. */
export interface RunBudgetUse extends BudgetUse {
  readonly list: ListBudgetUse | null
}

/** Inputs to the admission decision, except the account. */
export interface Rules extends Pick<
  Config,
  'dailyBudget' | 'monthlyBudget' | 'rateLimit' | 'mostInFlight'
> {
  readonly now: number
  readonly floor: number
  /** False for a test account, because its credits never run out. */
  readonly counts: boolean
  /** Fingerprint of the API key to be used. */
  readonly key: string
  readonly day: string
  readonly dayEnds: number
  /** First day of the current budget month. */
  readonly month: string
  readonly monthEnds: number
  /** Returns the first plan renewal after a time, or null if renewals are unknown. */
  readonly renewalAfter: (time: number) => number | null
}

export interface GrantedCall extends Omit<CallRequest, 'urgentElsewhere'> {
  readonly bound: number
  readonly seq: number
  readonly startTotal: number
  readonly probe: boolean
}

/** Next step for a task without a reservation. */
export type Deferral =
  | { readonly kind: 'none' }
  /** The task waits for calls in flight, because their results may change the decision. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** The task yields to more urgent tasks elsewhere in the queue. */
  | { readonly kind: 'yield' }
  | {
      readonly kind: 'stop'
      readonly reason: 'credit_floor' | 'budget' | 'auth' | 'rate'
      readonly until: number | null
      readonly detail: string
    }

/** Reason why a reservation is refused. */
type Limit =
  | 'class'
  | 'urgent'
  | 'reserved'
  | 'run_spent'
  | 'list_spent'
  | 'day'
  | 'month'
  | 'in_flight'
  | 'floor'

/** Returns the reason why no calls may be sent, or null if calls may be sent. */
function stopFor(
  { blockedKeys, foreignKeys, notBefore }: Account,
  { key, now }: Rules,
): Deferral | null {
  if (foreignKeys.includes(key)) {
    const detail = `this key reports a balance that cannot belong to this account, and another key of the account is in use; set MILL_ACCOUNT to another name for this key, or run: ${npmRun('resume')}`
    return { kind: 'stop', reason: 'auth', until: null, detail }
  }
  if (blockedKeys.includes(key)) {
    const detail = `the API refused the key; set another SEARCH_API_KEY, or run: ${npmRun('resume')}`
    return { kind: 'stop', reason: 'auth', until: null, detail }
  }
  if (notBefore !== null && now < notBefore) {
    const detail = 'the API asked for a lower request rate'
    return { kind: 'stop', reason: 'rate', until: notBefore, detail }
  }
  return null
}

interface BudgetUse {
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
}

function covers({ budget, spent, reserved }: BudgetUse, bound: Bound, size: number): boolean {
  if (budget === null) return true
  const left = budget - spent - reserved
  if (reserved > 0) return left >= size
  // With no other reservations, `bound.alone` is enough. If the price is unknown too, any credits left are enough.
  return left >= bound.alone || (bound.unseen && left > 0)
}

/** Returns the expected external spend per call. For a call sent alone, the lower value of the two windows is used. */
function externalPerCall({ external: { now, last } }: Account, alone: boolean): number {
  return alone ? Math.min(now, last ?? now) : Math.max(now, last ?? 0)
}

/** True if many credits may have been spent since the last reported balance without being recorded in the ledger. */
function isStale(account: Account, rules: Rules): boolean {
  const { seen, doubted } = account
  if (seen === null) return false
  const old = rules.now - seen.at > constants.oldestSightingMs
  return old || doubted || !isTrusted(account, rules)
}

/** True if the balance was reported for this key. */
function isTrusted({ keys }: Account, { key }: Rules): boolean {
  return keys.length === 0 || keys.includes(key)
}

/** True if a call may be sent alone, because the balance is unknown, outdated or from before a plan renewal. */
function isProbeDue(account: Account, bound: number, rules: Rules): boolean {
  const { seen, blindCalls } = account
  if (seen === null && blindCalls < constants.blindCalls) return true
  const low = lowestBalance(account)
  const fits = low !== null && low - bound >= rules.floor
  if (fits && isStale(account, rules)) return true
  return hasRenewed(account, rules)
}

/** True if the plan was renewed after the last reported balance. Allows a few calls at first, then one per renewal. */
function hasRenewed({ seen, lastProbeAt, blindCalls }: Account, rules: Rules): boolean {
  const tried = blindCalls < constants.blindCalls ? 0 : (lastProbeAt ?? 0)
  const renewal = rules.renewalAfter(Math.max(seen?.at ?? 0, tried))
  return renewal !== null && renewal <= rules.now
}

/** Milliseconds until the next probe. The pause grows with each probe, so that a failing API can recover. */
function probePause({ lastProbeAt, blindCalls }: Account, now: number): number {
  if (lastProbeAt === null) return 0
  const pause = constants.probePauseMs * 2 ** Math.max(0, blindCalls - 1)
  return Math.max(0, lastProbeAt + pause - now)
}

function floorStop(account: Account, { floor, now, renewalAfter }: Rules): Deferral {
  const { seen, lastProbeAt, uncertain } = account
  const held =
    uncertain > 0 ? `; held for calls with an unknown outcome: ${count(uncertain, 'credit')}` : ''
  return {
    kind: 'stop',
    reason: 'credit_floor',
    until: renewalAfter(Math.max(now, lastProbeAt ?? 0)),
    detail:
      seen === null
        ? `no balance could be read yet; run: ${npmRun('resume')}`
        : `${count(seen.remaining, 'credit')} left, and the credit floor is ${formatNumber(floor)}: another call might bring the balance below the floor${held}`,
  }
}

/** True if the budget is used up and no call in flight can release credits, so that open tasks are unaffordable. */
function isSpent(limit: Limit): boolean {
  return limit === 'run_spent' || limit === 'list_spent'
}

/** Reserves credits in the run's budget and in the list's budget, which other runs may share. */
function takeFrom(budgets: Map<number, RunBudgetUse>, run: number, bound: number): void {
  const key = budgets.get(run)?.list?.key
  for (const [id, use] of budgets) {
    const { list } = use
    const shares = list !== null && list.key === key
    budgets.set(id, {
      ...use,
      reserved: use.reserved + (id === run ? bound : 0),
      list: shares ? { ...list, reserved: list.reserved + bound } : list,
    })
  }
}

/** Advances the account to the day and the month in the rules. */
function inPeriod(account: Account, { day, month }: Rules): Account {
  // The day never moves back; otherwise, workers in different time zones would reset a day's spending.
  const newDay = account.day === null || day > account.day
  const newMonth = account.month === null || month > account.month
  return {
    ...account,
    ...(newDay ? { day, daySpent: 0 } : {}),
    ...(newMonth ? { month, monthSpent: 0 } : {}),
  }
}

/** Returns the stop for a used-up monthly or daily budget, or null if neither blocks a call. */
function budgetStop(
  { daySpent, monthSpent }: Account,
  { dailyBudget, dayEnds, monthlyBudget, monthEnds }: Rules,
  limits: ReadonlySet<Limit>,
): Deferral | null {
  if (limits.has('month')) {
    const detail = `the monthly budget is used up: ${formatNumber(monthSpent)} of ${count(monthlyBudget ?? 0, 'credit')}; raise MILL_MONTHLY_BUDGET, or wait until next month`
    return { kind: 'stop', reason: 'budget', until: monthEnds, detail }
  }
  if (!limits.has('day')) return null
  const detail = `the daily budget is used up: ${formatNumber(daySpent)} of ${count(dailyBudget ?? 0, 'credit')}; raise MILL_DAILY_BUDGET, or wait until tomorrow`
  return { kind: 'stop', reason: 'budget', until: dayEnds, detail }
}

/** A task held by a worker. */
export interface RequestedTask {
  readonly task: number
  readonly class: string
  readonly priority: number
}

export interface ReadyTask extends RequestedTask {
  readonly run: number
}

/** Determines which requested tasks must still be bought. Drops duplicates. */
export function sortTasks(
  requested: readonly RequestedTask[],
  found: ReadonlyMap<number, WaitingTask>,
) {
  const ready: ReadyTask[] = []
  const gone: number[] = []
  const later: number[] = []
  const reused: { task: number; search: number }[] = []
  const asked = new Set<string>()
  for (const want of requested) {
    const task = found.get(want.task)
    if (task === undefined || task.state !== 'open' || !task.run_open) gone.push(want.task)
    else if (task.busy || !task.due || asked.has(task.query_id)) later.push(want.task)
    else if (task.fresh !== null) {
      reused.push({ task: want.task, search: task.fresh })
      gone.push(want.task)
    } else {
      asked.add(task.query_id)
      ready.push({ run: task.run_id, ...want })
    }
  }
  ready.sort((a, b) => a.priority - b.priority)
  return { ready, gone, later, reused }
}

/** Credits are scarce if the balance above the floor covers fewer calls than this number. */
const scarce = 1_000

/** Returns the priorities for which credits are scarce. `countUrgent` then counts the more urgent tasks. */
export function scarcePriorities(
  ready: readonly ReadyTask[],
  { books: { account, costs }, rules }: { books: Books; rules: Rules },
): readonly number[] {
  const low = lowestBalance(account)
  if (!rules.counts || low === null) return []
  const tight = ready.filter(({ class: name, priority }) => {
    return priority > 1 && low - rules.floor < scarce * boundOf(costs, name).alone
  })
  return [...new Set(tight.map(({ priority }) => priority))]
}

/** For each priority, counts the more urgent tasks outside this decision, up to a limit. */
export async function countUrgent(
  db: Database,
  ready: readonly ReadyTask[],
  priorities: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const except = ready.map(({ task }) => task)
  const counts = new Map<number, number>()
  for (const priority of priorities) {
    const order = { priority, except, limit: scarce }
    const [row] = await readRows<{ count: number }>(db, 'count_more_urgent', order)
    counts.set(priority, row?.count ?? 0)
  }
  return counts
}
