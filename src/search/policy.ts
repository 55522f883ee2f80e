import type { Next } from '../shared/errors.ts'

/** What becomes of the task, the money and the fleet after a reply of one class. */
export interface Consequence {
  /** `keep`: stays open, no attempt used. `retry`: stays open while tries are left. */
  readonly task: 'answered' | 'retry' | 'fail' | 'keep'
  readonly countsAttempt: boolean
  /** `told`: as the body says, else the bound is held. `free`: nothing. `unknown`: perhaps charged, unless the body says. */
  readonly money: 'told' | 'free' | 'unknown'
  /** Why the whole account stands still, if it does. */
  readonly stops: 'auth' | 'credit_floor' | 'rate' | null
  readonly next: Next | null
  readonly means: string
}

/** The policy, class by class: what is retried, waited for, dropped, and what stops the fleet. */
export const policy = {
  answered: {
    task: 'answered',
    countsAttempt: false,
    money: 'told',
    stops: null,
    next: null,
    means: '200 without success: false; a body that cannot be read is kept and marked',
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
    means: '402, or a code that says so, whatever the status',
  },
  // Spec gap 8: rate limits are not shown. A refusal to serve is taken as free.
  slow_down: {
    task: 'keep',
    countsAttempt: false,
    money: 'free',
    stops: 'rate',
    next: 'retry',
    means: '429, or a code that says so',
  },
  // Spec gap 7: errors other than 401 and 403 are not shown. A refused request is taken as free.
  refused: {
    task: 'fail',
    countsAttempt: true,
    money: 'free',
    stops: null,
    next: 'drop',
    means: 'any other 3xx or 4xx: a verdict about the request that will not change',
  },
  faulty: {
    task: 'retry',
    countsAttempt: true,
    money: 'unknown',
    stops: null,
    next: 'retry',
    means:
      '5xx, 408, 425, a 2xx without an answer, or success: false with a code that nobody knows',
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
      'provably never sent: name not found, connection refused, TLS, connect timeout, stopped before',
  },
} as const satisfies Readonly<Record<string, Consequence>>

export type VerdictKind = keyof typeof policy

/** Classes of responses that are no answer. */
export type RefusalKind = Exclude<VerdictKind, 'answered' | 'lost' | 'unsent'>

// Spec gap 7: only UNAUTHORIZED and FORBIDDEN are shown; the others are what such services say.
const words = {
  key_refused: 'UNAUTHORIZED FORBIDDEN INVALID_API_KEY API_KEY_REVOKED',
  no_credit: `PAYMENT_REQUIRED QUOTA_EXCEEDED INSUFFICIENT_QUOTA INSUFFICIENT_CREDITS INSUFFICIENT_CREDIT
    OUT_OF_CREDITS NO_CREDITS CREDITS_EXHAUSTED CREDIT_LIMIT_EXCEEDED PLAN_LIMIT_EXCEEDED
    PLAN_LIMIT_REACHED MONTHLY_LIMIT_EXCEEDED`,
  slow_down: 'RATE_LIMIT RATE_LIMITED RATE_LIMIT_EXCEEDED TOO_MANY_REQUESTS SLOW_DOWN',
  refused: `BAD_REQUEST INVALID_REQUEST INVALID_PARAMETER INVALID_PARAMETERS INVALID_QUERY
    MISSING_PARAMETER VALIDATION_ERROR UNPROCESSABLE`,
  faulty: 'INTERNAL INTERNAL_ERROR SERVER_ERROR UNAVAILABLE SERVICE_UNAVAILABLE TIMEOUT',
} satisfies Readonly<Record<RefusalKind, string>>

const kinds = Object.keys(words) as RefusalKind[]
const codes: ReadonlyMap<string, RefusalKind> = new Map(
  kinds.flatMap((kind) => words[kind].split(/\s+/).map((word) => [word, kind] as const)),
)

/** Class of a response that is no answer: its code where it is known, its status otherwise. */
export function classOf(status: number, code: string | null): RefusalKind {
  const said = code === null ? undefined : codes.get(code.toUpperCase())
  // A code about credit or the key names the cause better than the status: quota errors come as 402, 403 and 429.
  if (said === 'no_credit' || status === 402) return 'no_credit'
  if (status === 401 || status === 403) return 'key_refused'
  if (status === 429) return 'slow_down'
  // A server error with any other code may still have charged; so may what asks to come again (408, 425).
  if (status >= 500 || status === 408 || status === 425) return 'faulty'
  if (said !== undefined) return said
  return status >= 300 ? 'refused' : 'faulty'
}
