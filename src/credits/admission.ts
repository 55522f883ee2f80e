import type { ListPurse } from '../store/ledger/waiting.ts'
import type { Account } from './account.ts'
import type { Costs } from './prices.ts'

/** One task that wants to be bought. */
export interface Ask {
  readonly task: number
  readonly class: string
  readonly run: number
  /** Open tasks elsewhere that are more urgent, counted as far as credit is scarce. */
  readonly urgentElsewhere: number
}

/** What a run may still use, and what its list may in the month of the run; null: the list has no budget. */
export interface RunPurse {
  readonly budget: number | null
  readonly spent: number
  readonly reserved: number
  readonly list: ListPurse | null
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
  readonly monthlyBudget: number | null
  /** The day on which the month began. */
  readonly month: string
  readonly monthEnds: number
  /** Calls per second over all workers. */
  readonly rateLimit: number | null
  /** Calls in flight over all workers. */
  readonly mostInFlight: number | null
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
  /** Runs whose budget is spent, or that of their list: what they leave open is unaffordable. */
  readonly spentRuns: readonly number[]
  /** Those of them whose list has spent its budget. */
  readonly spentByList: readonly number[]
  /** Calls that could go out at once now, as far as credit is asked. */
  readonly affordable: number
}
