/** What becomes of the task, the money and the account after a reply of one class. */
interface Consequence {
  /** `keep`: stays open, no try used. `retry`: a try used, stays open while some are left. `fail`: ends. */
  readonly task: 'answered' | 'retry' | 'fail' | 'keep'
  /** What was charged when the body does not say. `priced`: unknown, and what it says is the price of its class. */
  readonly money: 'priced' | 'free' | 'unknown'
  /** Why the whole account stands still, if it does. */
  readonly stops: 'auth' | 'credit_floor' | 'rate' | null
}

/** The policy, class by class: what is retried, waited for, dropped, and what stops every worker. */
export const policy = {
  // 200 without success: false. A body that cannot be read, or that answers another query, is kept and marked.
  // So is a refusal that says it was charged: see `isPaidAnswer`.
  answered: { task: 'answered', money: 'priced', stops: null },
  // 401 or 403 in the API's own shape of an error, or a code that says so.
  key_refused: { task: 'keep', money: 'free', stops: 'auth' },
  // 401 or 403 that the API itself did not write: what stands before it dislikes the query, and the key is not meant.
  blocked: { task: 'retry', money: 'free', stops: null },
  // 402, or a code that says so, whatever the status.
  no_credit: { task: 'keep', money: 'free', stops: 'credit_floor' },
  // 429, or a code that says so. Spec gap 8: rate limits are not shown. A refusal to serve is taken as free.
  slow_down: { task: 'keep', money: 'free', stops: 'rate' },
  // Any other 3xx or 4xx: a verdict about the request that will not change.
  // Spec gap 7: errors other than 401 and 403 are not shown. A refused request is taken as free.
  refused: { task: 'fail', money: 'free', stops: null },
  // 5xx, 408, 425, a 2xx without an answer, or success: false with a code that nobody knows.
  faulty: { task: 'retry', money: 'unknown', stops: null },
  // Sent, and no whole response came back: timeout, reset, cut body.
  lost: { task: 'retry', money: 'unknown', stops: null },
  // Provably never sent: name not found, connection refused, TLS, connect timeout, stopped before.
  unsent: { task: 'keep', money: 'free', stops: null },
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
} satisfies Readonly<Partial<Record<RefusalKind, string>>>

const kinds = Object.keys(words) as (keyof typeof words)[]
const codes: ReadonlyMap<string, RefusalKind> = new Map(
  kinds.flatMap((kind) => words[kind].split(/\s+/).map((word) => [word, kind] as const)),
)

/**
 * True for a refusal that counts as an answer without results: its body was read whole and says that it cost credits.
 * Asking again would cost them again, whatever the status, so it is kept and marked, and nothing buys it again by itself.
 * Refusals that stop the account (key, credit, rate) keep their meaning: they concern every query. One that says no
 * price, or 0, may be tried again.
 */
export function isPaidAnswer(kind: RefusalKind, creditsUsed: number | null): boolean {
  return policy[kind].stops === null && creditsUsed !== null && creditsUsed > 0
}

/** What a response that is no answer shows of itself. */
interface Shown {
  readonly status: number
  readonly code: string | null
  /** True when it says `success: false`, as every error of the API does. */
  readonly denies: boolean
}

/** Class of a response that is no answer: its code where it is known, its status otherwise. */
export function classOf({ status, code, denies }: Shown): RefusalKind {
  const said = code === null ? undefined : codes.get(code.toUpperCase())
  // A code about credit or the key names the cause better than the status: quota errors come as 402, 403 and 429.
  if (said === 'no_credit' || status === 402) return 'no_credit'
  if (status === 401 || status === 403) {
    // A firewall answers one query with a page of its own; taken for a refused key it would stop every worker.
    return said === 'key_refused' || (denies && code !== null) ? 'key_refused' : 'blocked'
  }
  if (status === 429) return 'slow_down'
  // A server error with any other code may still have charged; so may what asks to come again (408, 425).
  if (status >= 500 || status === 408 || status === 425) return 'faulty'
  if (said !== undefined) return said
  return status >= 300 ? 'refused' : 'faulty'
}
