// Converts a finished call into an entry, the record that is stored in the ledger.

import { npmRun } from '../../base/cli/commands.ts'
import { refusedRows } from '../../base/answer.ts'
import { reasonOf, unhandled } from '../../base/errors.ts'
import type { Query } from '../../base/query.ts'
import type { StoredAnswer } from '../answers/store.ts'
import type { Reply } from '../search/call.ts'
import { dropRows } from '../search/parse.ts'
import { policy, type Verdict } from '../search/verdict.ts'
import type { Effect } from './retry-policy.ts'
import type { CallEnding, CallName, Entry } from './settle.ts'

/** A task held by a worker. */
export interface Task {
  readonly id: number
  readonly run: number
  readonly priority: number
  readonly class: string
  readonly query: Query
  readonly queryId: string
  /** True if workers died during this task's calls. The task is bought alone, so that no other task becomes suspect. */
  readonly suspect: boolean
  /** True if the API once rejected the key in a call for this task. */
  readonly refused: boolean
}

export interface Bought {
  readonly task: Task
  readonly call: CallName
  readonly reply: Reply
  readonly verdict: Verdict
}

type BoughtReply = Omit<Bought, 'task'> & { readonly task: Pick<Task, 'id' | 'queryId'> }

export interface Provenance {
  readonly origin: 'live' | 'test' | 'sandbox'
  readonly api: string
}

const unreachableWaitMs = 2_000

export function entryOf(bought: BoughtReply, provenance: Provenance): Entry {
  const { call, verdict, reply } = bought
  const { creditsUsed, creditsRemaining, code, message } = verdict
  const ending = endingOf(verdict)
  return {
    call,
    ending,
    creditsUsed,
    creditsRemaining,
    code,
    message,
    effect: effectOf(verdict, ending),
    signal: signalOf(verdict),
    httpStatus: reply.kind === 'unsent' ? null : reply.status,
    answer: answerOf(bought, provenance),
  }
}

function endingOf({ kind, creditsUsed: used, creditsRemaining: remaining }: Verdict): CallEnding {
  if (kind === 'unsent') return { kind }
  const { money } = policy[kind]
  if (used !== null) return { kind: 'settled', used, remaining, priced: money === 'priced' }
  if (money === 'priced' && remaining !== null) {
    return { kind: 'settled', used: 0, remaining, priced: false, unbilled: true }
  }
  if (money === 'free') return { kind: 'settled', used: 0, remaining: null, priced: false }
  return { kind: 'unknown' }
}

function effectOf(verdict: Verdict, ending: CallEnding): Effect {
  const { task } = policy[verdict.kind]
  const reason = { code: verdict.code ?? '', message: verdict.message ?? '' }
  switch (task) {
    case 'answered':
      return { kind: task }
    case 'fail':
      return { kind: task, ...reason }
    case 'keep':
      return { kind: task, waitMs: verdict.kind === 'unsent' ? unreachableWaitMs : null }
    case 'retry': {
      const ambiguous = ending.kind === 'unknown'
      return { kind: task, ambiguous, death: false, waitMs: verdict.waitMs, ...reason }
    }
    default:
      throw unhandled('task', task)
  }
}

/** Returns the verdict's effect on the whole account: a reason to stop, or confirmation that the API answered. */
function signalOf({ kind, waitMs }: Verdict): Entry['signal'] {
  const { stops, task } = policy[kind]
  switch (stops) {
    case 'auth':
      return 'key_refused'
    case 'credit_floor':
      return 'no_credit'
    case 'rate':
      return { waitMs }
    case null:
      return task === 'answered' ? 'welcome' : null
    default:
      throw unhandled('stop', stops)
  }
}

/** Every received body is stored, even if it contains no answer. */
function answerOf({ task, call, reply, verdict }: BoughtReply, provenance: Provenance) {
  if (reply.kind === 'unsent') return null
  const body = reply.kind === 'response' ? reply.body : reply.partial
  if (body === null) return null
  return {
    callId: call.id,
    status: reply.status ?? 0,
    receivedAt: reply.receivedAt,
    truncated: reply.kind === 'response' ? reply.truncated : true,
    body,
    search:
      verdict.answer === null
        ? null
        : { taskId: task.id, queryId: task.queryId, ...provenance, answer: verdict.answer },
  } satisfies StoredAnswer
}

/** Builds the entry for a lost call, whose worker died or lost its lease. */
export function lostCall(call: CallName): Entry {
  const code = 'WORKER_DIED'
  const message = 'the worker that made the call stopped before the answer was recorded'
  return {
    ...nothingKnown(call),
    ending: { kind: 'unknown' },
    effect: { kind: 'retry', ambiguous: true, death: true, waitMs: 0, code, message },
    code,
    message,
  }
}

/** Builds the entry for a call that this process provably never sent. */
export function unsentCall(call: CallName): Entry {
  return {
    ...nothingKnown(call),
    ending: { kind: 'unsent' },
    effect: { kind: 'keep', waitMs: null },
    code: 'NOT_SENT',
    message: 'the reservation was released because nothing was sent',
  }
}

function nothingKnown(call: CallName) {
  return {
    call,
    signal: null,
    httpStatus: null,
    creditsUsed: null,
    creditsRemaining: null,
    answer: null,
  } as const
}

/** Builds an entry without rows, and marks the answer as unreadable, so that the query is not bought again. */
export function withoutRows(entry: Entry, error: unknown): Entry | null {
  const search = entry.answer?.search ?? null
  if (entry.answer === null || search === null) return null
  const answer = dropRows(search.answer, `${refusedRows}${reasonOf(error)}`)
  return { ...entry, answer: { ...entry.answer, search: { ...search, answer } } }
}

/** Builds an entry that keeps an answer's body and cost, drops its rows, and records the reason in the task. */
export function lighten(entry: Entry, error: unknown): Entry | null {
  if (entry.answer === null || entry.answer.search === null) return null
  const reason = reasonOf(error)
  const message = `the answer could not be stored: ${reason}; its body is kept, and ${npmRun('reparse')} stores it once the cause is fixed`
  return {
    ...entry,
    effect: { kind: 'fail', code: 'UNSTORABLE', message },
    code: 'UNSTORABLE',
    message,
    answer: { ...entry.answer, search: null },
  }
}
