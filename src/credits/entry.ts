import type { StoredAnswer } from '../store/answers/answers.ts'
import type { OpenCall } from '../store/ledger/settlement.ts'
import type { CallEnding } from './change.ts'
import type { Effect } from './tries.ts'

/** Which call it is. The mark is null for calls of older releases. */
export interface CallName {
  readonly id: number
  readonly mark: string | null
}

/** One call that ended, with everything that the ledger keeps of it. */
export interface Entry {
  readonly call: CallName
  readonly ending: CallEnding
  readonly effect: Effect
  /** What it says about the account itself. */
  readonly signal:
    | 'key_refused'
    | 'no_credit'
    | 'welcome'
    | { readonly waitMs: number | null }
    | null
  readonly httpStatus: number | null
  readonly creditsUsed: number | null
  readonly creditsRemaining: number | null
  readonly code: string | null
  readonly message: string | null
  readonly answer: StoredAnswer | null
}

/** Whose books are written, and by which rules. */
export interface Clerk {
  readonly account: number
  /** Fingerprint of the key in use: another one may be put into its file. */
  key: string
  readonly floor: number
  readonly rebuy: boolean
}

/** What became of the task of a call. */
export interface Recorded {
  readonly call: number
  readonly task: number
  readonly state: string
  /** Milliseconds until the task may be tried again; null when it ended, or when nobody knows. */
  readonly waitMs: number | null
}

/** A call that ended, beside its row. */
export interface Matched {
  readonly entry: Entry
  readonly call: OpenCall
}
