import type { Entry } from '../../../../src/core/ledger/settle.ts'
import type { Tables } from './tables.ts'

/** One little world of processes, databases and APIs, with every misfortune that messages and clocks can have. */
export interface Plan {
  readonly balance: number
  readonly floors: readonly number[]
  readonly accounts: 1 | 2
  readonly queries: number
  /** Several runs ask the same queries. */
  readonly runs: readonly { readonly budget: number | null; readonly maxAgeMs: number }[]
  readonly price: { readonly least: number; readonly range: number; readonly jumpsAfter: number }
  /** All runs are of one list. */
  readonly listBudget: number | null
  readonly dailyBudget: number | null
  readonly mostInFlight: number | null
  /** Of 16 calls, so many end badly at the API. */
  readonly faults: number
  readonly others: boolean
  readonly restores: boolean
  /** Answers that were seen before: with them prices are known, and several calls fly at once. */
  readonly seen: number
}

/** Somebody who asks and hears. */
export interface Party {
  readonly asleep: boolean
  /** Time passes. */
  pass(ms: number): void
  /** True while it keeps the answer to the call with this mark. */
  holds(mark: string): boolean
}

/** What the truth is held against. */
export interface Observed {
  readonly plan: Plan
  readonly now: number
  readonly tables: Tables
  readonly processes: readonly Party[]
  readonly files: readonly { readonly account: number; readonly entries: readonly Entry[] }[]
}
