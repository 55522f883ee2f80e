// Decides what a reply means for the task, the credits and the account.

import { type Answer, type Origin, otherQuery, paidRefusal } from '../../base/answer.ts'
import { canonicalText, type Query } from '../../base/query.ts'
import { scrub } from '../../base/secret.ts'
import type { Reply } from './call.ts'
import { dropRows, readAnswer, type Reading } from './parse.ts'

/** Meaning of a reply. Missing values and implausible credits are null. */
export interface Verdict extends Pick<Answer, 'creditsUsed' | 'creditsRemaining'> {
  readonly kind: keyof typeof policy
  readonly answer: Answer | null
  /** Reason why there is no answer: a code and a sentence, for display only. */
  readonly code: string | null
  readonly message: string | null
  /** Delay that the API requests. Only this task waits after a 5xx reply, which may have been charged. */
  readonly waitMs: number | null
}

const unanswered = { answer: null, creditsUsed: null, creditsRemaining: null, waitMs: null }

/** Classifies a reply by its status, error code, charge and echoed query. */
export function judge(reply: Reply, { q }: Query, origin: Origin = 'live'): Verdict {
  if (reply.kind !== 'response') {
    const { kind, code, message } = reply
    return { ...unanswered, kind, code, message }
  }
  const { status, body, truncated } = reply
  const reading = readAnswer(body, truncated, q)
  const { creditsUsed, creditsRemaining } = reading.answer
  const bill = { creditsUsed, creditsRemaining }
  const kind = isAnswer(status, reading.success) ? 'answered' : classOf(status, reading)
  if (kind === 'answered' || isPaidAnswer(kind, creditsUsed)) {
    const answer = answerOf(reading, { status, q, origin })
    return { kind: 'answered', answer, ...bill, code: null, message: null, waitMs: null }
  }
  const waits = kind === 'slow_down' || kind === 'faulty'
  const waitMs = waits ? readWait(reply.retryAfter, reply.receivedAt) : null
  return { kind, answer: null, ...bill, ...reasonOf(status, reading.refusal), waitMs }
}

interface StoredBody {
  readonly status: number
  readonly body: Buffer
  readonly truncated: boolean
  readonly q: string
  readonly origin: Origin
}

/** Parses a stored answer again, with the same result as when it arrived. */
export function rereadAnswer(kept: StoredBody): Answer {
  return answerOf(readAnswer(kept.body, kept.truncated, kept.q), kept)
}

/** Extracts the answer from a reply. The answer has no rows if the reply is a rejection or is for a different query. */
function answerOf(
  { success, query, answer, refusal }: Reading,
  { status, q, origin }: Pick<StoredBody, 'status' | 'q' | 'origin'>,
): Answer {
  if (!isAnswer(status, success)) {
    const { code, message } = reasonOf(status, refusal)
    return dropRows(answer, `${paidRefusal}${code}: ${message}`)
  }
  // Spec 5.1: test keys get mock data, which may name a different query.
  if (origin === 'test' || query === null || isEcho(query, q)) return answer
  return dropRows(answer, `${otherQuery}${JSON.stringify(shorten(query, 200))}`)
}

/**
 * True if the echoed query matches `q` or is empty. The API may normalize the query as querymill does. Case is also
 * ignored ("nyc hotels" matches "NYC hotels"), because the results hardly differ.
 */
function isEcho(query: string, q: string): boolean {
  if (query === q) return true
  const named = fold(query)
  return named === '' || named === fold(q)
}

/** Prepares text for comparison. Upper case comes last, because it makes ς equal to σ, and ß equal to ss. */
function fold(text: string): string {
  return canonicalText(canonicalText(text).toLowerCase().toUpperCase())
}

/** A 200 reply is an answer unless `success` is false. Other 2xx replies are answers only if `success` is true. */
function isAnswer(status: number, success: boolean | null): boolean {
  if (status === 200) return success !== false
  return status > 200 && status < 300 && success === true
}

function reasonOf(status: number, { code, message }: Reading['refusal']) {
  return {
    code: shorten(code ?? `HTTP_${status}`, 64),
    message: shorten(message ?? `the API responded with status ${status}`, 500),
  }
}

const leastWaitMs = 1000
const mostWaitMs = 3_600_000
const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, .* GMT$/

/** Parses Retry-After as seconds or a date. The result is between 1 second and 1 hour. Returns null for other text. */
export function readWait(header: string | null, now: Date): number | null {
  const text = header?.trim() ?? ''
  const waitMs = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : httpDate.test(text)
      ? Date.parse(text) - now.getTime()
      : Number.NaN
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, leastWaitMs), mostWaitMs)
}

function shorten(said: string, most: number): string {
  const text = scrub(said)
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`
}

/** Effects of a class of replies on the task, the credits and the account. */
interface Consequence {
  /**
   * `keep`: the task stays open; no try is counted. `retry`: a try is counted; the task stays open if tries are left.
   * `fail`: the task ends.
   */
  readonly task: 'answered' | 'retry' | 'fail' | 'keep'
  /** Assumed charge if no charge is reported. `priced` is like `unknown`, but a reported charge counts as a price. */
  readonly money: 'priced' | 'free' | 'unknown'
  readonly stops: 'auth' | 'credit_floor' | 'rate' | null
}

/** Policy for each class of replies: whether the task is retried, delayed or failed, and whether all workers stop. */
export const policy = {
  // Status 200 without `success: false`. Unreadable bodies, answers to a different query, and rejections that report a
  // charge (see `isPaidAnswer`) are stored and marked.
  answered: { task: 'answered', money: 'priced', stops: null },
  // Status 401 or 403 in the API's own error format, or with an error code about the key.
  key_refused: { task: 'keep', money: 'free', stops: 'auth' },
  // Status 401 or 403 from a proxy in front of the API. The proxy rejected the query, not the key.
  blocked: { task: 'retry', money: 'free', stops: null },
  // Status 402, or a corresponding code with any status.
  no_credit: { task: 'keep', money: 'free', stops: 'credit_floor' },
  // Status 429, or a corresponding code. Spec gap 8: rate limits are not documented. The response is assumed to be
  // free.
  slow_down: { task: 'keep', money: 'free', stops: 'rate' },
  // Any other 3xx or 4xx status is a final rejection. Spec gap 7: only errors 401 and 403 are documented, and
  // other rejections are assumed to be free.
  refused: { task: 'fail', money: 'free', stops: null },
  // Status 5xx, 408 or 425; a 2xx status without an answer; or `success: false` with an unknown code.
  faulty: { task: 'retry', money: 'unknown', stops: null },
  // No complete response to a sent request: timeout, reset, truncated body.
  lost: { task: 'retry', money: 'unknown', stops: null },
  // Provably never sent: DNS failure, connection refused, TLS error, connect timeout, stopped before sending.
  unsent: { task: 'keep', money: 'free', stops: null },
} as const satisfies Readonly<Record<string, Consequence>>

type RefusalKind = Exclude<keyof typeof policy, 'answered' | 'lost' | 'unsent'>

// Spec gap 7: only UNAUTHORIZED and FORBIDDEN are documented. The other codes are common in similar services.
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

const codes = new Map(
  (Object.keys(words) as (keyof typeof words)[]).flatMap((kind) =>
    words[kind].split(/\s+/).map((word) => [word, kind] as const),
  ),
)

/**
 * True for a rejection that counts as an answer without results, because its body is complete and reports a charge.
 * Another try would cost credits again, so the rejection is stored and marked, and the query is bought again only on
 * request. Rejections that stop the account are excluded, because they affect every query. Free rejections may be
 * retried.
 */
function isPaidAnswer(kind: RefusalKind, creditsUsed: number | null): boolean {
  return policy[kind].stops === null && creditsUsed !== null && creditsUsed > 0
}

/** Returns the class of a response that is not an answer, based on its status and error code. */
function classOf(status: number, { success, refusal: { code } }: Reading): RefusalKind {
  const said = code === null ? undefined : codes.get(code.toUpperCase())
  // Codes about credits or the key take precedence over the status: quota errors may have status 402, 403 or 429.
  if (said === 'no_credit' || status === 402) return 'no_credit'
  if (status === 401 || status === 403) {
    // A firewall may block a single query, which must not stop all workers as a refused key does.
    // Every error from the API has `success: false`.
    return said === 'key_refused' || (success === false && code !== null)
      ? 'key_refused'
      : 'blocked'
  }
  if (status === 429) return 'slow_down'
  // A server error with any other code, or a request to try again (408, 425), may have been charged.
  if (status >= 500 || status === 408 || status === 425) return 'faulty'
  if (said !== undefined) return said
  return status >= 300 ? 'refused' : 'faulty'
}
