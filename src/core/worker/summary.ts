// Builds a worker's summary: its last lines, its exit code, and the reason why the worker ended.

import { createHistogram } from 'node:perf_hooks'
import { npmRun } from '../../base/cli/commands.ts'
import { type Flaw, flawOf } from '../../base/answer.ts'
import { count, flawText, formatNumber } from '../../base/cli/text.ts'
import { type Exit, exits, unhandled } from '../../base/errors.ts'
import { leftUnaffordable } from '../ledger/standstill.ts'
import type { Mill } from '../mill.ts'
import { readAccount } from '../runs/status.ts'
import type { Verdict } from '../search/verdict.ts'

const reasons = {
  completed: 'nothing is left to do',
  credit_floor: `stopped at the credit floor; top up, then run: ${npmRun('resume')}`,
  budget: `a budget is used up; ${npmRun('budget')} shows all budgets`,
  auth: `the API refused the key; set another SEARCH_API_KEY, or run: ${npmRun('resume')}`,
  stalled: 'the API keeps asking for a lower request rate; try again later',
  unreachable: 'the database, the queue or the API is unreachable',
  interrupted: 'stopped; run the same command to continue',
}

/** Returns the summary lines with the failures by code and the latency. */
export function sumLines({ failures, latency_ms: { median, p95 } }: Summary): string[] {
  const lines: string[] = []
  const codes = Object.entries(failures).map(([code, tasks]) => `${formatNumber(tasks)} ${code}`)
  if (codes.length > 0) lines.push(`failures in these runs: ${codes.join(', ')}`)
  if (median !== null && p95 !== null) {
    lines.push(`answers took ${inSeconds(median)} (median), ${inSeconds(p95)} (95th percentile)`)
  }
  return lines
}

function inSeconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(2)} s` : `${Math.round(ms / 1000)} s`
}

/** Returns a worker's last line: results, cost, reason for ending, and the next command. */
export async function lastLine(mill: Mill, summary: Summary): Promise<string> {
  const { answered, reused, failed, unknown, unreadable, calls, credits_used: used } = summary
  const left =
    summary.credits_remaining === null ? '' : `, ${formatNumber(summary.credits_remaining)} left`
  const sandbox = mill.supplier.origin === 'sandbox' ? 'SANDBOX, no real credits are spent: ' : ''
  const kept =
    unreadable === 0 ? '' : `, ${formatNumber(unreadable)} unreadable (${whyUnreadable(summary)})`
  const others = summary.run_failures - failed - unknown - unreadable
  const besides =
    others > 0
      ? `; ${formatNumber(others)} other tasks in these runs failed, or are unknown or unreadable`
      : ''
  const reason = await whyEnded(mill, summary)
  return `${sandbox}${formatNumber(answered)} answered, ${formatNumber(reused)} reused, ${formatNumber(failed)} failed, ${formatNumber(unknown)} unknown${kept}${besides}; ${count(calls, 'call')}, ${count(used, 'credit')} used${left}; ${reason}`
}

/** Counts unreadable answers, and explains those that `reparse` cannot fix. */
function whyUnreadable(summary: Summary): string {
  const { unreadable, paid_refusal, other_query } = summary
  const parts = [flawText(summary), npmRun('reparse')]
  if (unreadable === paid_refusal + other_query) parts.pop()
  return parts.filter((part) => part !== '').join('; ')
}

/** Explains why the worker ended, including any active stop, and names the next command. */
async function whyEnded(
  { db, supplier }: Mill,
  { finish, seconds, waiting }: Summary,
): Promise<string> {
  if (waiting !== null) {
    const { tasks, query, until } = waiting
    const others = tasks === 1 ? '' : ` and ${count(tasks - 1, 'more task')}`
    return `the API asked querymill to wait until ${until} before retrying ${JSON.stringify(query)}${others}; then run the same command again`
  }
  if (finish === 'completed' || finish === 'unreachable' || finish === 'interrupted') {
    return reasons[finish]
  }
  const account = await readAccount(db, { name: supplier.account, kind: supplier.origin })
  const stop = account?.stops.find(
    ({ reason }) => reason === (finish === 'stalled' ? 'rate' : finish),
  )
  if (stop?.reason === 'rate' && stop.until !== null) {
    return `the API asked for a pause until ${stop.until}; run the same command again later`
  }
  if (stop !== undefined) {
    return `${finish === 'budget' ? stop.detail : reasons[finish]} (since ${stop.since})`
  }
  if (finish !== 'budget') return reasons[finish]
  // If the budget of a run or list is used up, other runs continue, so there is no stop.
  return (await leftUnaffordable(db, (seconds + slackSeconds) * 1_000)) === 'list'
    ? `a list's budget for this month is used up (see ${npmRun('budget')}); raise it with ${npmRun('budget --')} --list NAME --credits N, then run: ${npmRun('retry --')} --state unaffordable`
    : `a run's budget is used up; enqueue its list again with a larger --budget, or run: ${npmRun('retry --')} --state unaffordable --budget N`
}

/** Margin in seconds for the time since the summary was made. */
const slackSeconds = 10

export function exitOf(
  { finish, run_failures: failures, waiting }: Pick<Summary, 'finish' | 'run_failures' | 'waiting'>,
  signal: AbortSignal,
): Exit {
  switch (finish) {
    case 'completed':
      return failures > 0 ? exits.failures : exits.done
    case 'credit_floor':
    case 'budget':
      return exits.stopped
    case 'auth':
      return exits.key
    case 'stalled':
      return waiting === null ? exits.unreachable : exits.failures
    case 'unreachable':
      return exits.unreachable
    case 'interrupted':
      return signal.reason === 'SIGINT' ? exits.interrupted : exits.done
    default:
      throw unhandled('finish', finish)
  }
}

export type Finish = keyof typeof reasons

/** Results of a worker, with the same keys as the output of `work -- --json`. */
export type Summary = ReturnType<Tally['sum']>

export interface Waiting {
  readonly tasks: number
  readonly query: string
  readonly until: string
}

/** Maximum and minimum time over which the rate is measured. */
const paceMs = 60_000
const shortestMs = 500

/** Counts the calls and tasks of this worker. The database has the authoritative counts. */
export class Tally {
  readonly #started = performance.now()
  readonly #ended = { answered: 0, failed: 0, unknown: 0 }
  readonly #flaws: Record<Flaw, number> = { unreadable: 0, paid_refusal: 0, other_query: 0 }
  #used = 0
  #progress = performance.now()
  #ends = [{ at: performance.now(), done: 0 }]
  /** Durations of paid requests, in microseconds. */
  readonly #latencies = createHistogram()
  calls = 0
  remaining: number | null = null
  reused = 0
  /** Open tasks that a drain does not wait for, and the query of the first task; null if there are none. */
  waiting: Waiting | null = null
  readonly runs = new Set<number>()

  reply({ kind, answer, creditsUsed, creditsRemaining }: Verdict): void {
    if (kind === 'unsent') return
    this.calls += 1
    this.#used += creditsUsed ?? 0
    if (creditsRemaining !== null) this.remaining = creditsRemaining
    const flaw = answer === null ? null : flawOf(answer.parseError)
    if (flaw !== null) this.#flaws[flaw] += 1
  }

  took(seconds: number): void {
    this.#latencies.record(Math.max(1, Math.round(seconds * 1_000_000)))
  }

  ended(state: string): void {
    if (state === 'answered' || state === 'failed' || state === 'unknown') this.#ended[state] += 1
    if (state === 'open') return
    this.#progress = performance.now()
    if (this.#progress - (this.#ends.at(-1)?.at ?? 0) >= shortestMs) {
      this.#ends.push({ at: this.#progress, done: this.done })
    }
  }

  /** Tasks that this worker has completed. */
  get done(): number {
    const { answered, failed, unknown } = this.#ended
    return answered + failed + unknown + this.reused
  }

  /** Tasks per second over the last minute. */
  get pace(): number {
    const now = performance.now()
    while ((this.#ends[0]?.at ?? now) < now - paceMs) this.#ends.shift()
    const [oldest] = this.#ends
    if (oldest === undefined || now - oldest.at < shortestMs) return 0
    return ((this.done - oldest.done) * 1000) / (now - oldest.at)
  }

  /** Milliseconds since a task last ended. */
  get stillFor(): number {
    return performance.now() - this.#progress
  }

  get age(): number {
    return performance.now() - this.#started
  }

  sum(finish: Finish) {
    const { answered, failed, unknown } = this.#ended
    const { paid_refusal, other_query } = this.#flaws
    const unreadable = this.#flaws.unreadable + paid_refusal + other_query
    return {
      finish,
      answered,
      reused: this.reused,
      failed,
      unknown,
      /** Answers stored without results: unreadable answers, charged rejections, and answers to a different query. */
      unreadable,
      /** Rejections that the API charged for; included in `unreadable`. */
      paid_refusal,
      /** Answers to a different query; included in `unreadable`. */
      other_query,
      /** Failed, unknown or unreadable tasks in this worker's runs, including tasks bought by other workers. */
      run_failures: failed + unknown + unreadable,
      calls: this.calls,
      credits_used: this.#used,
      credits_remaining: this.remaining,
      waiting: this.waiting,
      failures: {} as Readonly<Record<string, number>>,
      /** Median and 95th percentile of call latency, or null if there were no calls. */
      latency_ms: { median: this.#latencyMs(50), p95: this.#latencyMs(95) },
      seconds: Math.round(this.age / 10) / 100,
    }
  }

  #latencyMs(percentile: number): number | null {
    const { count: calls } = this.#latencies
    return calls === 0 ? null : Math.round(this.#latencies.percentile(percentile) / 1_000)
  }
}
