import {
  boundOf,
  constants,
  dearestOfAll,
  lowestBalance,
  type Account,
  type Bound,
  type Cost,
  type Costs,
} from './account.ts'

/** One task that wants to be bought. */
export interface Ask {
  readonly task: number
  readonly class: string
  readonly run: number
  /** Open tasks elsewhere that are more urgent, counted as far as credit is scarce. */
  readonly urgentElsewhere: number
}

/** What a run may still use. */
export interface Purse {
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
}

/** Everything that decides besides the account itself. */
export interface Rules {
  readonly now: number
  /** Credits that must stay. */
  readonly floor: number
  /** False for a test account, which never stops for credit. */
  readonly counts: boolean
  /** Fingerprint of the key that would be used. */
  readonly key: string
  readonly dailyBudget: number | null
  readonly day: string
  readonly dayEnds: number
  /** Calls per second over all workers. */
  readonly rateLimit: number | null
  /** The first renewal of the plan after a time; null when nobody told. */
  readonly renewalAfter: (time: number) => number | null
}

/** Permission for one call, with the credits set aside for it. */
export interface Grant {
  readonly task: number
  readonly run: number
  readonly class: string
  readonly bound: number
  readonly seq: number
  readonly startTotal: number
  readonly probe: boolean
}

export type StopReason = 'credit_floor' | 'budget' | 'auth' | 'rate'

/** What the asks that were not granted have to do. */
export type Rest =
  | { readonly kind: 'none' }
  /** Calls in flight will tell more. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** More urgent tasks lie elsewhere in the queue: these give way. */
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
  /** Runs whose budget is spent: what they leave open is unaffordable. */
  readonly spentRuns: readonly number[]
  /** Calls that could go out at once now, as far as credit is asked. */
  readonly affordable: number
}

const soon = 100
/** Calls whose turns lie this close together start together: lanes are filled in groups. */
const rateSlackMs = 20

/** May these calls be made? State in, decision out: the same function runs in the mill and in its model. */
export function admit(
  account: Account,
  costs: Costs,
  {
    asks,
    purses,
    rules,
  }: { asks: readonly Ask[]; purses: ReadonlyMap<number, Purse>; rules: Rules },
): Admission {
  const gate = new Gate(account, costs, purses, rules)
  const closed = gate.closed()
  if (closed !== null) return gate.decide(closed)
  for (const ask of asks) {
    if (gate.full()) break
    gate.consider(ask)
  }
  return gate.decide(asks.length === gate.grants.length ? { kind: 'none' } : gate.rest())
}

/** Why one ask could not be granted. */
type Obstacle = 'class' | 'urgent' | 'purse' | 'run_spent' | 'day' | 'floor'

/** Of a budget, the first call needs the smaller bound; where only a call can tell the price, what is left. */
function need(bound: Bound, size: number, { left, idle }: { left: number; idle: boolean }): number {
  if (!idle) return size
  return bound.unseen && left > 0 ? Math.min(bound.alone, left) : bound.alone
}

class Gate {
  readonly grants: Grant[] = []
  readonly #purses: Map<number, Purse>
  readonly #costs: Map<string, Cost>
  readonly #obstacles = new Set<Obstacle>()
  readonly #spentRuns = new Set<number>()
  readonly #rules: Rules
  #account: Account
  #single = false
  #rateWait = 0
  #probeWait = 0

  constructor(account: Account, costs: Costs, purses: ReadonlyMap<number, Purse>, rules: Rules) {
    // Never back: workers whose zones differ would otherwise begin the same day again and again.
    const newDay = account.day === null || rules.day > account.day
    this.#account = newDay ? { ...account, day: rules.day, daySpent: 0 } : account
    this.#costs = new Map(costs)
    this.#purses = new Map(purses)
    this.#rules = rules
  }

  /** Reasons that shut the gate whatever is asked. */
  closed(): Rest | null {
    const { blockedKey, notBefore } = this.#account
    const { key, now } = this.#rules
    if (blockedKey !== null && blockedKey === key) {
      return {
        kind: 'stop',
        reason: 'auth',
        until: null,
        detail: 'the API refused the key; set another SEARCH_API_KEY, or type: npm run resume',
      }
    }
    if (notBefore !== null && now < notBefore) {
      return {
        kind: 'stop',
        reason: 'rate',
        until: notBefore,
        detail: 'the API asked to slow down',
      }
    }
    return null
  }

  /** True when nothing more may go out in this group. */
  full(): boolean {
    return this.#single || this.#rateWait > 0
  }

  consider(ask: Ask): void {
    if (this.#spentRuns.has(ask.run)) return
    if (!this.#rateAllows()) return
    const obstacle = this.#rules.counts ? this.#tryCredit(ask) : this.#grant(ask, 0)
    if (obstacle === null) return
    this.#obstacles.add(obstacle)
    if (obstacle === 'run_spent') this.#spentRuns.add(ask.run)
  }

  rest(): Rest {
    if (this.#rateWait > 0) return { kind: 'wait', ms: this.#rateWait }
    // A call in flight tells more than any rule: nothing is decided for good before it is back.
    if (this.#account.inFlight > 0) return { kind: 'wait', ms: soon }
    if (this.#obstacles.has('urgent')) return { kind: 'yield' }
    if (this.#obstacles.has('day')) {
      return {
        kind: 'stop',
        reason: 'budget',
        until: this.#rules.dayEnds,
        detail: `the budget of the day is used: ${this.#account.daySpent} of ${this.#rules.dailyBudget} credits`,
      }
    }
    if (this.#obstacles.has('floor')) return this.#floorStop()
    return { kind: 'wait', ms: soon }
  }

  decide(rest: Rest): Admission {
    return {
      account: this.#account,
      costs: this.#costs,
      grants: this.grants,
      rest,
      spentRuns: [...this.#spentRuns],
      affordable: this.#affordable(),
    }
  }

  #tryCredit(ask: Ask): Obstacle | null {
    const bound = boundOf(this.#costs, ask.class)
    // One call of a class never seen shows what such calls cost; the others wait for it.
    if (bound.unseen && this.#costs.get(ask.class)?.trying === true) return 'class'
    const obstacle = this.#limit(ask, bound, bound.among)
    if (obstacle === null) return this.#grant(ask, bound.among)
    if (this.#account.inFlight > 0 || obstacle === 'run_spent') return obstacle
    const alone = this.#limit(ask, bound, bound.alone)
    if (alone === null) return this.#grantAlone(ask, bound.alone)
    if (alone === 'floor' && this.#mayProbe(bound.alone)) return this.#grantProbe(ask, bound.alone)
    return alone
  }

  /** What forbids a call of this size: its run's budget, the day's, or the floor. */
  #limit(ask: Ask, bound: Bound, size: number): Obstacle | null {
    const purse = this.#purses.get(ask.run)
    if (purse !== undefined && purse.budget !== null) {
      const left = purse.budget - purse.spent - purse.reserved
      if (left < need(bound, size, { left, idle: purse.reserved === 0 })) {
        return purse.reserved === 0 ? 'run_spent' : 'purse'
      }
    }
    const { reserved, daySpent } = this.#account
    const left = (this.#rules.dailyBudget ?? Number.POSITIVE_INFINITY) - daySpent - reserved
    if (left < need(bound, size, { left, idle: reserved === 0 })) return 'day'
    const room = this.#room()
    if (room === null || room < size) return 'floor'
    return room < size * (1 + ask.urgentElsewhere) ? 'urgent' : null
  }

  /** Credits that are provably free above the floor; null while a new balance must be seen first. */
  #room(): number | null {
    const low = lowestBalance(this.#account)
    if (low === null || this.#stale()) return null
    const { drainedFloor } = this.#account
    const { floor } = this.#rules
    const drained = drainedFloor !== null && floor >= drainedFloor
    const kept = drained ? constants.hysteresis * (dearestOfAll(this.#costs) ?? 0) : 0
    return low - floor - constants.margin - kept
  }

  #stale(): boolean {
    const { seen } = this.#account
    return seen !== null && this.#rules.now - seen.at > constants.oldestSightingMs
  }

  #mayProbe(bound: number): boolean {
    const { probeGranted, lastProbeAt, blindCalls } = this.#account
    if (probeGranted) return true
    if (!this.#probeDue(bound)) return false
    // Longer each time: an API that stumbles at the very first calls gets half a minute to stand up.
    const pause = constants.probePauseMs * 2 ** Math.max(0, blindCalls - 1)
    this.#probeWait = lastProbeAt === null ? 0 : lastProbeAt + pause - this.#rules.now
    return this.#probeWait <= 0
  }

  #probeDue(bound: number): boolean {
    const { seen, blindCalls } = this.#account
    if (seen === null && blindCalls < constants.blindCalls) return true
    const low = lowestBalance(this.#account)
    const { floor } = this.#rules
    if (low !== null && this.#stale() && low - bound >= floor + constants.margin) return true
    return this.#renewed()
  }

  /** True when the plan renewed after the balance was last seen: a few tries, then one for each renewal. */
  #renewed(): boolean {
    const { seen, lastProbeAt, blindCalls } = this.#account
    const tried = blindCalls < constants.blindCalls ? 0 : (lastProbeAt ?? 0)
    const renewal = this.#rules.renewalAfter(Math.max(seen?.at ?? 0, tried))
    return renewal !== null && renewal <= this.#rules.now
  }

  #grantAlone(ask: Ask, bound: number): null {
    this.#single = true
    return this.#grant(ask, bound)
  }

  #grantProbe(ask: Ask, bound: number): null {
    this.#single = true
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
    const purse = this.#purses.get(run)
    if (purse !== undefined) {
      this.#purses.set(run, { ...purse, reserved: purse.reserved + bound })
    }
    this.#markTrying(name)
    return null
  }

  #markTrying(name: string): void {
    const cost = this.#costs.get(name)
    if (cost !== undefined && cost.seen > 0) return
    this.#costs.set(name, { dearest: 0, cheapest: 0, seen: 0, trying: true })
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
    const { floor, now } = this.#rules
    const { seen, lastProbeAt, uncertain } = this.#account
    if (this.#probeWait > 0) return { kind: 'wait', ms: Math.ceil(this.#probeWait) }
    const low = lowestBalance(this.#account)
    this.#account = { ...this.#account, drainedFloor: floor }
    const held = uncertain > 0 ? `, ${uncertain} of them held for calls nobody could read` : ''
    return {
      kind: 'stop',
      reason: 'credit_floor',
      until: this.#rules.renewalAfter(Math.max(now, lastProbeAt ?? 0)),
      detail:
        low === null || seen === null
          ? 'no balance could be read yet; type: npm run resume'
          : `${seen.remaining} credits were left, the floor is ${floor}: another call might cross it${held}`,
    }
  }

  #affordable(): number {
    if (!this.#rules.counts) return Number.MAX_SAFE_INTEGER
    const room = this.#room()
    const dearest = Math.max(1, dearestOfAll(this.#costs) ?? constants.firstBound)
    return room === null ? 1 : Math.max(1, Math.floor(room / dearest) + this.#account.inFlight)
  }
}
