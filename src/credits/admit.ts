import { constants, type Account } from './account.ts'
import type { Admission, Ask, Grant, RunPurse, Rest, Rules } from './admission.ts'
import {
  closedBy,
  floorStop,
  isProbeDue,
  obstacleTo,
  probePause,
  roomAbove,
  type Obstacle,
  type Standing,
} from './limits.ts'
import { budgetStop, inPeriod } from './periods.ts'
import { boundOf, dearestOfAll, unknownCost, type Cost, type Costs } from './prices.ts'
import { isSpent, takeFrom } from './purses.ts'

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

  /** True when nothing more may go out in this group. */
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
    // A call in flight tells more than any rule: nothing is decided for good before it is back.
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
    // One call of a class never seen shows what such calls cost; the others wait for it.
    if (bound.unseen && this.#costs.get(ask.class)?.trying === true) return 'class'
    const obstacle = obstacleTo(this.#standing, ask, { bound, size: bound.among })
    if (obstacle === null) return this.#grant(ask, bound.among)
    if (this.#account.inFlight > 0 || isSpent(obstacle)) return obstacle
    const alone = obstacleTo(this.#standing, ask, { bound, size: bound.alone })
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
    const room = roomAbove(this.#account, this.#costs, this.#rules)
    const dearest = dearestOfAll(this.#costs)?.alone ?? constants.firstBound
    return room === null ? 1 : Math.max(1, Math.floor(room / dearest) + this.#account.inFlight)
  }
}
