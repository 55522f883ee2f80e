import type { Entry } from '../../../../src/core/ledger/settle.ts'
import type { Tables } from './tables.ts'

/** One simulation of processes, databases and APIs, with every fault that messages and clocks can have. */
export interface Plan {
  readonly balance: number
  readonly floors: readonly number[]
  readonly accounts: 1 | 2
  readonly queries: number
  /** Several runs contain the same queries. */
  readonly runs: readonly { readonly budget: number | null; readonly maxAgeMs: number }[]
  readonly price: { readonly least: number; readonly range: number; readonly jumpsAfter: number }
  /** All runs belong to one list. */
  readonly listBudget: number | null
  readonly dailyBudget: number | null
  readonly mostInFlight: number | null
  /** Of 16 calls, this many fail at the API. */
  readonly faults: number
  readonly others: boolean
  readonly restores: boolean
  /** Answers before the simulation starts, so that prices are known and several calls can be in flight. */
  readonly seen: number
}

/** A process that sends requests and receives replies. */
export interface Party {
  readonly asleep: boolean
  /** Time passes. */
  pass(ms: number): void
  /** True while it stores the answer to the call with this mark. */
  holds(mark: string): boolean
}

/** The simulation's record of what really happened, for comparison. */
export interface Observed {
  readonly plan: Plan
  readonly now: number
  readonly tables: Tables
  readonly processes: readonly Party[]
  readonly files: readonly { readonly account: number; readonly entries: readonly Entry[] }[]
}
