import type { Verdict } from '../../search/verdict.ts'

/** Why work came to its end. */
export type Finish =
  | 'completed'
  | 'credit_floor'
  | 'budget'
  | 'auth'
  | 'stalled'
  | 'unreachable'
  | 'interrupted'

/** What one worker did; the keys are those of `work -- --json`. */
export interface Summary {
  readonly finish: Finish
  readonly answered: number
  readonly reused: number
  readonly failed: number
  readonly unknown: number
  /** Answers that were kept but could not be read. */
  readonly unreadable: number
  /** Tasks of the runs that it worked on which failed, are unknown or cannot be read, whoever bought them. */
  readonly run_failures: number
  readonly calls: number
  readonly credits_used: number
  readonly credits_remaining: number | null
  readonly seconds: number
}

/** Counts what this worker sees; the tables count what is true. */
export class Tally {
  readonly #started = performance.now()
  #answered = 0
  #failed = 0
  #unknown = 0
  #unreadable = 0
  #calls = 0
  #used = 0
  #remaining: number | null = null
  #progress = performance.now()
  reused = 0
  /** Runs that it has worked on. */
  readonly runs = new Set<number>()

  /** A reply came back. */
  reply(verdict: Verdict): void {
    if (verdict.kind === 'unsent') return
    this.#calls += 1
    if (!('creditsUsed' in verdict)) return
    this.#used += verdict.creditsUsed ?? 0
    if (verdict.creditsRemaining !== null) this.#remaining = verdict.creditsRemaining
    if (verdict.kind === 'answered' && verdict.answer.parseError !== null) this.#unreadable += 1
  }

  /** A call was written down, and its task is now in this state. */
  ended(state: string): void {
    if (state === 'answered') this.#answered += 1
    if (state === 'failed') this.#failed += 1
    if (state === 'unknown') this.#unknown += 1
    if (state !== 'open') this.#progress = performance.now()
  }

  /** Milliseconds since a task last came to an end. */
  get stillFor(): number {
    return performance.now() - this.#progress
  }

  /** Milliseconds since this worker began. */
  get age(): number {
    return performance.now() - this.#started
  }

  get answered(): number {
    return this.#answered
  }

  get remaining(): number | null {
    return this.#remaining
  }

  sum(finish: Finish): Summary {
    return {
      finish,
      answered: this.#answered,
      reused: this.reused,
      failed: this.#failed,
      unknown: this.#unknown,
      unreadable: this.#unreadable,
      run_failures: this.#failed + this.#unknown + this.#unreadable,
      calls: this.#calls,
      credits_used: this.#used,
      credits_remaining: this.#remaining,
      seconds: Math.round((performance.now() - this.#started) / 10) / 100,
    }
  }
}
