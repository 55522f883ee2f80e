// Defines the retry policy: how often and when a task is retried.

import { unhandled } from '../../base/errors.ts'
import { constants } from './account.ts'

export interface Tries {
  readonly state: string
  readonly attempts: number
  readonly ambiguous: number
  readonly deaths: number
}

/** A finished call's effect on its task. */
export type Effect =
  | { readonly kind: 'answered' }
  /** The task is retried until its tries are used up. */
  | {
      readonly kind: 'retry'
      /** True if the call may have been charged, but its answer could not be read. */
      readonly ambiguous: boolean
      /** True if the worker died while the call was in flight. */
      readonly death: boolean
      readonly waitMs: number | null
      readonly code: string
      readonly message: string
    }
  /** The task has failed and is not retried. */
  | { readonly kind: 'fail'; readonly code: string; readonly message: string }
  /** The try does not count, because all workers are stopped or nothing was sent. */
  | { readonly kind: 'keep'; readonly waitMs: number | null }

export interface ChangedTask extends Tries {
  readonly waitMs: number | null
  readonly code: string | null
  readonly message: string | null
}

export interface Patience {
  /** If false, a call that may have been charged is never bought again. */
  readonly rebuy: boolean
  /** Random number between 0 and 1, to spread retries over time. */
  readonly jitter: number
}

const retryMs = 1_000
const longestRetryMs = 60_000

/** Returns a task's state after one of its calls ended, or null if it does not change. */
export function nextTry(tries: Tries, effect: Effect, patience: Patience): ChangedTask | null {
  const quiet = { ...tries, waitMs: null, code: null, message: null }
  switch (effect.kind) {
    case 'answered':
      // A late answer completes a task that was given up, but not a cancelled or reused task.
      if (tries.state === 'cancelled' || tries.state === 'reused') return null
      if (tries.state === 'answered') return null
      return { ...quiet, state: 'answered', attempts: tries.attempts + 1 }
    case 'keep':
      if (tries.state !== 'open' || effect.waitMs === null) return null
      return { ...quiet, waitMs: effect.waitMs }
    case 'fail': {
      if (tries.state !== 'open') return null
      const { code, message } = effect
      return { ...quiet, code, message, state: 'failed', attempts: tries.attempts + 1 }
    }
    case 'retry':
      if (tries.state !== 'open') return null
      return retry(tries, effect, patience)
    default:
      throw unhandled('effect', effect)
  }
}

function retry(
  tries: Tries,
  effect: Extract<Effect, { kind: 'retry' }>,
  { rebuy, jitter }: Patience,
): ChangedTask {
  const attempts = tries.attempts + 1
  const ambiguous = tries.ambiguous + (effect.ambiguous ? 1 : 0)
  const deaths = tries.deaths + (effect.death ? 1 : 0)
  const doubled = retryMs * 2 ** Math.min(attempts - 1, 10)
  const backoff = Math.min(longestRetryMs, doubled) * (1 + jitter / 2)
  const { code, message } = effect
  const next = { attempts, ambiguous, deaths, code, message }
  if (deaths >= constants.deaths) {
    const poison = `${deaths} workers died while this query was in flight; the query may be the cause, so it is not retried`
    return { ...next, state: 'unknown', waitMs: null, code: 'POISON', message: poison }
  }
  if (ambiguous >= constants.unreadCalls || (effect.ambiguous && !rebuy)) {
    return { ...next, state: 'unknown', waitMs: null }
  }
  if (attempts >= constants.failedCalls) return { ...next, state: 'failed', waitMs: null }
  return { ...next, state: 'open', waitMs: Math.max(effect.waitMs ?? 0, Math.round(backoff)) }
}
