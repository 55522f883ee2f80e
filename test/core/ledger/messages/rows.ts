import type { Account } from '../../../../src/core/ledger/account.ts'
import type { Costs } from '../../../../src/core/ledger/prices.ts'

/** Rows are never modified, only replaced, so that a copy of the maps is a copy of the database. */
export interface CallRow {
  readonly id: number
  readonly mark: string
  readonly query: string
  readonly account: number
  readonly worker: number
  readonly task: number
  readonly sentAt: number
  readonly seq: number
  readonly startTotal: number
  readonly bound: number
  readonly class: string
  readonly outcome: 'settled' | 'unknown' | 'unsent' | null
  readonly unknownAt: number
  readonly washed: boolean
  readonly used: number
  readonly remaining: number | null
  /** Position in the order of all events. */
  readonly event: number
}

export interface TaskRow {
  readonly id: number
  readonly run: number
  readonly query: string
  readonly class: string
  readonly state: string
  readonly attempts: number
  readonly ambiguous: number
  readonly deaths: number
  readonly notBefore: number
  readonly search: number | null
  readonly version: number
}

export interface RunRow {
  readonly budget: number | null
  readonly spent: number
  readonly uncertain: number
  readonly reserved: number
  readonly maxAgeMs: number
}

export interface WorkerRow {
  readonly id: number
  /** Host and process id. */
  readonly process: number
  readonly account: number
  readonly floor: number
  readonly leaseUntil: number
  readonly stopped: boolean
}

export interface AccountBooks {
  readonly account: Account
  readonly costs: Costs
  readonly version: number
}

/** An answer, with the query that the API received. */
export interface AnswerRow {
  readonly query: string
  readonly asked: string
  readonly at: number
}

/** Everything in a database that concerns credits. */
export class Shelf {
  accounts: AccountBooks[] = []
  calls = new Map<number, CallRow>()
  /** Calls in flight. */
  flying = new Set<number>()
  tasks = new Map<number, TaskRow>()
  runs: RunRow[] = []
  workers = new Map<number, WorkerRow>()
  answers = new Map<number, AnswerRow>()
  nextCall = 1
  nextWorker = 1
  version = 1

  copy(): Shelf {
    const copy = new Shelf()
    copy.accounts = [...this.accounts]
    copy.calls = new Map(this.calls)
    copy.flying = new Set(this.flying)
    copy.tasks = new Map(this.tasks)
    copy.runs = [...this.runs]
    copy.workers = new Map(this.workers)
    copy.answers = new Map(this.answers)
    copy.nextCall = this.nextCall
    copy.nextWorker = this.nextWorker
    copy.version = this.version
    return copy
  }
}
