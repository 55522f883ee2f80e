import { Latencies } from './latencies.ts'
import type { Verdict } from '../../search/verdict.ts'
import { flawOf, type Flaw } from '../../store/answers/answer.ts'

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
  /** Answers that were kept without results: they could not be read, or are one of the next two. */
  readonly unreadable: number
  /** Of these: refusals that the API charged for. */
  readonly paid_refusal: number
  /** Of these: answers to another query. */
  readonly other_query: number
  /** Tasks of the runs that it worked on which failed, are unknown or cannot be read, whoever bought them. */
  readonly run_failures: number
  readonly calls: number
  readonly credits_used: number
  readonly credits_remaining: number | null
  /** What the same calls would have cost at the prices paid before it began; null where one had never been paid. */
  readonly credits_expected: number | null
  /** Tasks of its runs that are not well, by the code of the error. */
  readonly failures: Readonly<Record<string, number>>
  /** Within this time half of the calls came back, and 95 of 100; null without a call. */
  readonly latency_ms: { readonly median: number | null; readonly p95: number | null }
  readonly seconds: number
}

/** What a call of a class has cost lately, on average. */
export type Prices = ReadonlyMap<string, number>

/** The pace is that of so long; shorter times than the second say nothing. */
const paceMs = 60_000
const shortestMs = 500

/** Counts what this worker sees; the tables count what is true. */
export class Tally {
  readonly #started = performance.now()
  #answered = 0
  #failed = 0
  #unknown = 0
  readonly #flaws: Record<Flaw, number> = { unreadable: 0, paid_refusal: 0, other_query: 0 }
  #calls = 0
  #used = 0
  #remaining: number | null = null
  #progress = performance.now()
  #charged = 0
  #expected: number | null = 0
  #prices: Prices = new Map()
  #ends = [{ at: performance.now(), done: 0 }]
  readonly #latencies = new Latencies()
  reused = 0
  /** Runs that it has worked on. */
  readonly runs = new Set<number>()

  /** A reply came back. */
  reply(verdict: Verdict): void {
    if (verdict.kind === 'unsent') return
    this.#calls += 1
    if (!('creditsUsed' in verdict)) return
    this.#used += verdict.creditsUsed ?? 0
    if (verdict.creditsUsed !== null) this.#charged += 1
    if (verdict.creditsRemaining !== null) this.#remaining = verdict.creditsRemaining
    const flaw = verdict.kind === 'answered' ? flawOf(verdict.answer.parseError) : null
    if (flaw !== null) this.#flaws[flaw] += 1
  }

  /** Calls that came to an end. */
  get calls(): number {
    return this.#calls
  }

  /** What calls have cost before this worker makes any. */
  expect(prices: Prices): void {
    this.#prices = prices
  }

  /** A paid request came back after so many seconds. */
  took(seconds: number): void {
    this.#latencies.add(seconds)
  }

  /** A call was written down, and its task is now in this state; its class says what it was expected to cost. */
  ended(state: string, kind = ''): void {
    if (state === 'answered') this.#answered += 1
    if (state === 'failed') this.#failed += 1
    if (state === 'unknown') this.#unknown += 1
    if (state === 'open') return
    this.#progress = performance.now()
    if (this.#progress - (this.#ends.at(-1)?.at ?? 0) >= shortestMs) {
      this.#ends.push({ at: this.#progress, done: this.done })
    }
    const price = this.#prices.get(kind)
    this.#expected = price === undefined || this.#expected === null ? null : this.#expected + price
  }

  /** Tasks that this worker has brought to an end. */
  get done(): number {
    return this.#answered + this.#failed + this.#unknown + this.reused
  }

  /** Tasks a second, over the last minute. */
  get pace(): number {
    const now = performance.now()
    while ((this.#ends[0]?.at ?? now) < now - paceMs) this.#ends.shift()
    const [oldest] = this.#ends
    if (oldest === undefined || now - oldest.at < shortestMs) return 0
    return ((this.done - oldest.done) * 1000) / (now - oldest.at)
  }

  /** What a call that told its price has cost, on average. */
  get meanPrice(): number | null {
    return this.#charged === 0 ? null : this.#used / this.#charged
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
    const { paid_refusal, other_query } = this.#flaws
    const unreadable = this.#flaws.unreadable + paid_refusal + other_query
    return {
      finish,
      answered: this.#answered,
      reused: this.reused,
      failed: this.#failed,
      unknown: this.#unknown,
      unreadable,
      paid_refusal,
      other_query,
      run_failures: this.#failed + this.#unknown + unreadable,
      calls: this.#calls,
      credits_used: this.#used,
      credits_remaining: this.#remaining,
      credits_expected: this.#expected === null ? null : Math.round(this.#expected),
      failures: {},
      latency_ms: { median: this.#latencies.within(0.5), p95: this.#latencies.within(0.95) },
      seconds: Math.round((performance.now() - this.#started) / 10) / 100,
    }
  }
}
