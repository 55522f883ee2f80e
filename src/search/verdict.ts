import type { Next } from '../errors.ts'
import type { Query } from '../query.ts'
import type { Answer } from '../store/answers.ts'
import type { Reply } from './call.ts'

/** What a body says about money; null: it does not say, or nothing that can be believed. */
export interface Bill {
  readonly creditsUsed: number | null
  readonly creditsRemaining: number | null
}

/** What a reply means for its task, its account and the fleet. */
export type Verdict =
  | ({ readonly kind: 'answered'; readonly answer: Answer } & Bill)
  | ({ readonly kind: 'key_refused'; readonly code: string; readonly message: string } & Bill)
  | ({ readonly kind: 'no_credit'; readonly code: string; readonly message: string } & Bill)
  | ({
      readonly kind: 'slow_down'
      readonly code: string
      readonly message: string
      /** Null: the API did not say how long. */
      readonly waitMs: number | null
    } & Bill)
  | ({ readonly kind: 'refused'; readonly code: string; readonly message: string } & Bill)
  | ({
      readonly kind: 'faulty'
      readonly code: string
      readonly message: string
      /** What a 5xx asks for; it concerns this task's next attempt only. */
      readonly waitMs: number | null
    } & Bill)
  | { readonly kind: 'lost'; readonly code: string; readonly message: string }
  | { readonly kind: 'unsent'; readonly code: string; readonly message: string }

export type VerdictKind = Verdict['kind']

export interface Consequence {
  /** `keep`: stays open, no attempt used. `retry`: stays open while tries are left. */
  readonly task: 'answered' | 'retry' | 'fail' | 'keep'
  readonly countsAttempt: boolean
  /** `told`: as the body says, otherwise the bound is held. `free`: nothing. `unknown`: bound held unless the body says. */
  readonly money: 'told' | 'free' | 'unknown'
  readonly stops: 'auth' | 'credit_floor' | 'rate' | null
  readonly next: Next | null
  readonly means: string
}

/** The policy, class by class: what is retried, waited for, dropped, and what stops the fleet. */
export const policy: Readonly<Record<VerdictKind, Consequence>> = {
  answered: {
    task: 'answered',
    countsAttempt: false,
    money: 'told',
    stops: null,
    next: null,
    means: 'a 200 that does not say success: false; one that cannot be read is kept and marked',
  },
  key_refused: {
    task: 'keep',
    countsAttempt: false,
    money: 'free',
    stops: 'auth',
    next: 'halt',
    means: '401, 403, or a code that says so',
  },
  no_credit: {
    task: 'keep',
    countsAttempt: false,
    money: 'free',
    stops: 'credit_floor',
    next: 'halt',
    means: '402, or a code that says so whatever the status',
  },
  slow_down: {
    task: 'keep',
    countsAttempt: false,
    money: 'free',
    stops: 'rate',
    next: 'retry',
    means: '429, or a code that says so',
  },
  refused: {
    task: 'fail',
    countsAttempt: true,
    money: 'free',
    stops: null,
    next: 'drop',
    means: 'any other 3xx or 4xx: a verdict about this request that will not change',
  },
  faulty: {
    task: 'retry',
    countsAttempt: true,
    money: 'unknown',
    stops: null,
    next: 'retry',
    means: '5xx, 408, 425, or success: false with a code that nobody knows',
  },
  lost: {
    task: 'retry',
    countsAttempt: true,
    money: 'unknown',
    stops: null,
    next: 'retry',
    means: 'sent, and no whole response came back: timeout, reset, cut body',
  },
  unsent: {
    task: 'keep',
    countsAttempt: false,
    money: 'free',
    stops: null,
    next: 'retry',
    means:
      'provably never sent: name not found, connection refused, TLS, connect timeout, aborted before',
  },
}

export function judge(_reply: Reply, _sent: Query): Verdict {
  throw new Error('not yet')
}
