import type { Query } from '../shared/query.ts'
import { scrub } from '../shared/secret.ts'
import type { Answer } from '../store/answers/answer.ts'
import type { Reply } from './call.ts'
import { readAnswer, type Reading } from './parse.ts'
import { classOf } from './policy.ts'

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

/** Decides what a reply to a query means, by status and code alone. */
export function judge(reply: Reply, sent: Query): Verdict {
  if (reply.kind !== 'response') {
    return { kind: reply.kind, code: reply.code, message: reply.message }
  }
  const { success, answer, refusal } = readAnswer(reply.body, reply.truncated, sent.q)
  const { creditsUsed, creditsRemaining } = answer
  const bill = { creditsUsed, creditsRemaining }
  if (isAnswer(reply.status, success)) return { kind: 'answered', answer, ...bill }
  return refuse(reply, { ...refusal, denies: success === false }, bill)
}

/** Only `success: false` makes a 200 no answer; another 2xx is one when it says success: true. */
function isAnswer(status: number, success: boolean | null): boolean {
  if (status === 200) return success !== false
  return status > 200 && status < 300 && success === true
}

function refuse(
  response: Response,
  said: Reading['refusal'] & { readonly denies: boolean },
  bill: Bill,
): Verdict {
  const { status } = response
  const trouble = {
    code: shorten(said.code ?? `HTTP_${status}`, 64),
    message: shorten(said.message ?? `the API answered with status ${status}`, 500),
  }
  const kind = classOf({ status, code: said.code, denies: said.denies })
  switch (kind) {
    case 'slow_down':
    case 'faulty':
      return {
        kind,
        waitMs: readWait(response.retryAfter, response.receivedAt),
        ...trouble,
        ...bill,
      }
    case 'key_refused':
    case 'blocked':
    case 'no_credit':
    case 'refused':
      return { kind, ...trouble, ...bill }
    default:
      return kind satisfies never
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
