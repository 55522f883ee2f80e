// Defines the retry policy: how often and when a task is retried.

import { unhandled } from '../../base/errors.ts'
import { constants } from './account.ts'

export interface Tries {
  readonly state: string
  readonly attempts: number
  readonly ambiguous: number
  readonly deaths: number
}

/** Effect of a finished call on its task. */
export type Effect =
  | { readonly kind: 'answered' }
  /** The task is retried until no tries are left. */
  | {
      readonly kind: 'retry'
      /** True if the call may have been charged, but its answer could not be read. */
      readonly ambiguous: boolean
      readonly death: boolean
      readonly waitMs: number | null
      readonly code: string
      readonly message: string
    }
  /** The task has failed and is not retried. */
  | { readonly kind: 'fail'; readonly code: string; readonly message: string }
  /** The attempt is not counted, because all workers are stopped or no request was sent. */
  | { readonly kind: 'keep'; readonly waitMs: number | null }

/** A task's new values, by column name. */
export interface ChangedTask extends Tries {
  readonly wait_ms?: number
  readonly error_code?: string
  readonly error_message?: string
}

export interface Patience {
  /** If false, a call that may have been charged is never bought again. */
  readonly rebuy: boolean
  /** Random number between 0 and 1, to spread retries over time. */
  readonly jitter: number
}

const retryMs = 1_000
const longestRetryMs = 60_000

/** Returns a task's state after a call has ended, or null if the state does not change. */
export function nextTry(tries: Tries, effect: Effect, patience: Patience): ChangedTask | null {
  switch (effect.kind) {
    case 'answered':
      // A late answer completes a task that was given up, but not a cancelled or reused task.
      if (tries.state === 'cancelled' || tries.state === 'reused') return null
      if (tries.state === 'answered') return null
      return { ...tries, state: 'answered', attempts: tries.attempts + 1 }
    case 'keep':
      if (tries.state !== 'open' || effect.waitMs === null) return null
      return { ...tries, wait_ms: effect.waitMs }
    case 'fail': {
      if (tries.state !== 'open') return null
      const failed = { ...tries, state: 'failed', attempts: tries.attempts + 1 }
      return { ...failed, error_code: effect.code, error_message: effect.message }
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
  const { code: error_code, message: error_message } = effect
  const next = { attempts, ambiguous, deaths, error_code, error_message }
  if (deaths >= constants.deaths) {
    const poison = `${deaths} workers died while this query was in flight; the query may be the cause, so it is not retried`
    return { ...next, state: 'unknown', error_code: 'POISON', error_message: poison }
  }
  if (ambiguous >= constants.unreadCalls || (effect.ambiguous && !rebuy)) {
    return { ...next, state: 'unknown' }
  }
  if (attempts >= constants.failedCalls) return { ...next, state: 'failed' }
  return { ...next, state: 'open', wait_ms: Math.max(effect.waitMs ?? 0, Math.round(backoff)) }
}
