import { canonicalText, type Query } from '../shared/query.ts'
import { scrub } from '../shared/secret.ts'
import { otherQuery, paidRefusal, type Answer, type Origin } from '../store/answers/answer.ts'
import type { Reply } from './call.ts'
import { readAnswer, dropRows, type Reading } from './parse.ts'
import { classOf, isPaidAnswer, type RefusalKind } from './policy.ts'

/** What a body says about money; null: it says nothing, or nothing that can be believed. */
export interface Bill {
  readonly creditsUsed: number | null
  readonly creditsRemaining: number | null
}

/** Why there is no answer, as one word and in a sentence; nothing is decided by either. */
export interface Reason {
  readonly code: string
  readonly message: string
}

/** What a reply means; `policy` says what follows from it. */
export type Verdict =
  | ({ readonly kind: 'answered'; readonly answer: Answer } & Bill)
  | ({ readonly kind: 'key_refused' } & Reason & Bill)
  | ({ readonly kind: 'blocked' } & Reason & Bill)
  | ({ readonly kind: 'no_credit' } & Reason & Bill)
  /** `waitMs` is null when the API does not say how long. */
  | ({ readonly kind: 'slow_down'; readonly waitMs: number | null } & Reason & Bill)
  | ({ readonly kind: 'refused' } & Reason & Bill)
  /** `waitMs` concerns the next attempt of this task only: a 5xx may have been charged, so it is no request to slow down. */
  | ({ readonly kind: 'faulty'; readonly waitMs: number | null } & Reason & Bill)
  | ({ readonly kind: 'lost' } & Reason)
  | ({ readonly kind: 'unsent' } & Reason)

type Response = Extract<Reply, { kind: 'response' }>

/** Decides what a reply to a query means, by its status, its code, its bill and the query that it names. */
export function judge(reply: Reply, { q }: Query, origin: Origin = 'live'): Verdict {
  if (reply.kind !== 'response') {
    return { kind: reply.kind, code: reply.code, message: reply.message }
  }
  const { status, body, truncated } = reply
  const reading = readAnswer(body, truncated, q)
  const { creditsUsed, creditsRemaining } = reading.answer
  const bill = { creditsUsed, creditsRemaining }
  const denies = reading.success === false
  const kind = isAnswer(status, reading.success)
    ? 'answered'
    : classOf({ status, code: reading.refusal.code, denies })
  if (kind !== 'answered' && !isPaidAnswer(kind, creditsUsed)) {
    return refuse(reply, kind, { ...reasonOf(status, reading.refusal), ...bill })
  }
  return { kind: 'answered', answer: answerOf(reading, { status, q, origin }), ...bill }
}

/** A body that was kept as an answer, with what was asked. */
interface KeptAnswer {
  readonly status: number
  readonly body: Buffer
  readonly truncated: boolean
  readonly q: string
  readonly origin: Origin
}

/** Reads a kept answer again: the same answer that `judge` made of it when it came. */
export function rereadAnswer(kept: KeptAnswer): Answer {
  return answerOf(readAnswer(kept.body, kept.truncated, kept.q), kept)
}

/** The answer in a reply that counts as one: without rows where it is a refusal, or answers another query. */
function answerOf(
  { success, query, answer, refusal }: Reading,
  { status, q, origin }: Pick<KeptAnswer, 'status' | 'q' | 'origin'>,
): Answer {
  if (!isAnswer(status, success)) {
    const { code, message } = reasonOf(status, refusal)
    return dropRows(answer, `${paidRefusal}${code}: ${message}`)
  }
  // Spec 5.1: a test key is given mock data, which may name any query.
  if (origin === 'test' || query === null || isEcho(query, q)) return answer
  return dropRows(answer, `${otherQuery}${JSON.stringify(shorten(query, 200))}`)
}

/**
 * True when an answer that names this query answers `q`. An API may tidy its echo as we tidy a query, and may change its
 * case: taking "nyc hotels" for another query than "NYC hotels" would cost every query with a capital, while the results
 * of the two hardly differ. An empty echo names no query.
 */
function isEcho(query: string, q: string): boolean {
  if (query === q) return true
  const named = fold(query)
  return named === '' || named === fold(q)
}

/** Upper case last: it also joins the two small sigmas, and ß with ss. */
function fold(text: string): string {
  return canonicalText(canonicalText(text).toLowerCase().toUpperCase())
}

/** Only `success: false` makes a 200 no answer; another 2xx is one when it says success: true. */
function isAnswer(status: number, success: boolean | null): boolean {
  if (status === 200) return success !== false
  return status > 200 && status < 300 && success === true
}

function refuse(response: Response, kind: RefusalKind, said: Reason & Bill): Verdict {
  switch (kind) {
    case 'slow_down':
    case 'faulty':
      return { kind, waitMs: readWait(response.retryAfter, response.receivedAt), ...said }
    case 'key_refused':
    case 'blocked':
    case 'no_credit':
    case 'refused':
      return { kind, ...said }
    default:
      return kind satisfies never
  }
}

function reasonOf(status: number, { code, message }: Reading['refusal']): Reason {
  return {
    code: shorten(code ?? `HTTP_${status}`, 64),
    message: shorten(message ?? `the API answered with status ${status}`, 500),
  }
}

const leastWaitMs = 1000
const mostWaitMs = 3_600_000
const httpDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, .* GMT$/

/** Retry-After as seconds or as a date, from one second to an hour; null when it is neither. */
export function readWait(header: string | null, now: Date): number | null {
  const text = header?.trim() ?? ''
  const waitMs = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1000
    : httpDate.test(text)
      ? Date.parse(text) - now.getTime()
      : Number.NaN
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, leastWaitMs), mostWaitMs)
}

/** What an API says may be long, and may quote the key. */
function shorten(said: string, most: number): string {
  const text = scrub(said)
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`
}
