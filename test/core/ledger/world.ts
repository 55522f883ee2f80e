import type { Account } from '../../../src/core/ledger/account.ts'
import type * as admission from '../../../src/core/ledger/admission.ts'
import type { Deferral } from '../../../src/core/ledger/admission.ts'
import type { Costs } from '../../../src/core/ledger/prices.ts'
import type { CallEnding, Signal } from '../../../src/core/ledger/settle.ts'
import { newAccount } from './new-account.ts'
import type * as settlement from './settle-model.ts'

/** The functions under test: the real ones, or copies with an injected fault. */
export interface Core {
  readonly admit: typeof admission.admit
  readonly settle: typeof settlement.settle
}

/** Price of a call of one class: constant, within a range, or suddenly higher. */
export interface Price {
  readonly least: number
  readonly most: number
  /** From this call on, it costs three times as much. */
  readonly jumpsAfter: number
}

/** One simulation: who buys what, from which balance, with which faults. */
export interface Plan {
  readonly balance: number
  readonly floor: number
  readonly prices: readonly Price[]
  readonly tasks: number
  readonly budgets: readonly (number | null)[]
  /** All runs belong to one list. */
  readonly listBudget: number | null
  readonly dailyBudget: number | null
  readonly monthlyBudget: number | null
  readonly rateLimit: number | null
  readonly mostInFlight: number | null
  readonly renewal: { readonly everyMs: number; readonly credits: number } | null
  /** Of 16 calls, this many fail. */
  readonly faults: number
  readonly others: boolean
  readonly start: number
}

export interface Reply {
  readonly ending: CallEnding
  readonly signal: 'welcome' | 'key_refused' | 'no_credit' | { waitMs: number | null } | null
  readonly task: 'answered' | 'failed' | 'retry' | 'keep'
}

/** A call as stored in the tables, with what only the server knows. */
export interface Row {
  readonly id: number
  readonly task: number
  readonly run: number
  readonly class: string
  readonly worker: number
  readonly seq: number
  readonly startedAt: number
  readonly startTotal: number
  bound: number
  readonly key: string
  readonly day: number
  readonly event: number
  outcome: 'settled' | 'unknown' | 'unsent' | null
  priced: boolean
  /** Position among all reported prices; 0 for a call that reported none. */
  pricedAt: number
  /** Position of its recording among all events. */
  endedAt: number
  used: number
  remaining: number | null
  unknownAt: number
  washed: boolean
  /** The amount that the server charged; null while it has not processed the request. */
  cost: number | null
  reply: Reply | null
  /** True if the request will never reach the server. */
  void: boolean
}

export interface Worker {
  readonly id: number
  floor: number
  key: string
  state: 'alive' | 'frozen' | 'dead'
  leaseUntil: number
}

export interface Task {
  readonly id: number
  readonly run: number
  readonly class: string
  state: 'open' | 'answered' | 'failed' | 'unknown' | 'unaffordable'
  ambiguous: number
  busy: boolean
}

export const dayMs = 86_400_000
export const leaseMs = 90_000

export const monthOf = (day: number): number => Math.floor((day - 10) / 30)
/** As the ledger assumes: nothing is charged later than this after a call was given up. */
export const graceMs = 120_000

export class World {
  readonly plan: Plan
  readonly core: Core
  readonly rows: Row[] = []
  /** Rows that are not settled: in flight, or unknown and not yet included in a balance. */
  unsettled: Row[] = []
  readonly tasks: Task[]
  readonly workers: Worker[] = []
  readonly starts: number[] = []
  readonly served: number[]
  account: Account
  costs: Costs = new Map()
  now: number
  balance: number
  key = 'key 1'
  /** Counts events, so that they can be ordered. */
  event = 0
  readonly spentByOthers: { event: number; credits: number }[] = []
  renewals = 0
  /** True when no more faults occur. */
  calm = false
  rest: Deferral = { kind: 'none' }

  constructor(plan: Plan, core: Core) {
    this.plan = plan
    this.core = core
    this.account = newAccount
    this.now = plan.start
    this.balance = plan.balance
    this.served = plan.prices.map(() => 0)
    this.tasks = Array.from({ length: plan.tasks }, (_, id) => ({
      id,
      run: id % plan.budgets.length,
      class: String(id % plan.prices.length),
      state: 'open',
      ambiguous: 0,
      busy: false,
    }))
    this.join()
  }

  join(): void {
    const { floor } = this.plan
    const leaseUntil = this.now + leaseMs
    this.workers.push({ id: this.workers.length, floor, key: this.key, state: 'alive', leaseUntil })
  }

  get day(): number {
    return Math.floor(this.now / dayMs)
  }

  /** A month begins at the midnight that schedules are close to. */
  get month(): number {
    return monthOf(this.day)
  }

  /** The floor in force: the highest of all live workers. */
  get floor(): number {
    let floor = 0
    for (const { leaseUntil, floor: own } of this.workers) {
      if (leaseUntil > this.now) floor = Math.max(floor, own)
    }
    return floor
  }

  get others(): number {
    return this.spentByOthers.reduce((sum, { credits }) => sum + credits, 0)
  }

  /** The first renewal after a time, as in the settings. */
  renewalAfter = (time: number): number | null => {
    const { renewal } = this.plan
    return renewal === null ? null : (Math.floor(time / renewal.everyMs) + 1) * renewal.everyMs
  }

  tick(ms: number): void {
    const { renewal } = this.plan
    const then = this.now + ms
    if (renewal !== null) {
      const times = Math.floor(then / renewal.everyMs) - Math.floor(this.now / renewal.everyMs)
      this.balance += times * renewal.credits
      this.renewals += times
    }
    this.now = then
    for (const worker of this.workers) {
      if (worker.state === 'alive') worker.leaseUntil = then + leaseMs
    }
  }

  spendElsewhere(credits: number): void {
    const taken = Math.min(credits, this.balance)
    this.event += 1
    this.balance -= taken
    this.spentByOthers.push({ event: this.event, credits: taken })
  }

  signalOf({ reply, key, seq, startedAt }: Row): Signal[] {
    const signal = reply?.signal ?? null
    if (signal === null) return []
    if (signal === 'welcome') return [{ kind: 'welcome' }]
    if (signal === 'key_refused') return [{ kind: 'key_refused', key }]
    if (signal === 'no_credit') return [{ kind: 'no_credit', seq, startedAt }]
    return [{ kind: 'slow_down', startedAt, waitMs: signal.waitMs }]
  }
}
