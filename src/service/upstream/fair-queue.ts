/**
 * Schedules searches at an upstream with few slots: round-robin over accounts, first in, first out within each account.
 * A turn that cannot end by its deadline is refused when it arrives, or when it would begin.
 */
import { Refusal } from '../refusal.ts'

interface QueueLimits {
  /** Maximum turns in progress. */
  readonly places: number
  /** Maximum turns in progress per account. */
  readonly placesPerAccount: number
  /** Maximum queued turns per account; beyond it, turns with a deadline are refused. */
  readonly waitingPerAccount: number
}

/** One piece of work at the upstream: a whole search, or one page of it. */
export interface Turn {
  readonly account: number
  /** Removes a turn that has not begun from the queue when it aborts. */
  readonly signal: AbortSignal
  /** Time of `performance.now()` by which the turn must end; null: only the signal limits the wait. */
  readonly deadline: number | null
}

interface Waiter {
  readonly deadline: number | null
  /** Ends the wait: the turn begins, or it is refused. */
  readonly end: (refusal: Refusal | null) => void
}

const observedTurns = 16
const longestRetrySeconds = 60

export class FairQueue {
  readonly #limits: QueueLimits
  /** The queue of each waiting account; the account at the front is served next. */
  readonly #waiting = new Map<number, Waiter[]>()
  readonly #working = new Map<number, number>()
  #free: number
  /** Durations of the last turns. */
  #observed: readonly number[] = []
  /** Estimated duration of a turn; null until the first one has ended. */
  #turnMs: number | null = null

  constructor(limits: QueueLimits) {
    this.#limits = limits
    this.#free = limits.places
  }

  /** Waits for a slot and does the work. Throws a 429 when the turn cannot end by its deadline. */
  async run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    turn.signal.throwIfAborted()
    if (this.#hasPlace(turn.account)) this.#occupy(turn.account)
    else await this.#wait(turn)
    const start = performance.now()
    try {
      return await work()
    } finally {
      this.#observe(performance.now() - start)
      this.#vacate(turn.account)
    }
  }

  #hasPlace(account: number): boolean {
    return this.#free > 0 && this.#workingOf(account) < this.#limits.placesPerAccount
  }

  #workingOf(account: number): number {
    return this.#working.get(account) ?? 0
  }

  #occupy(account: number): void {
    this.#free -= 1
    this.#working.set(account, this.#workingOf(account) + 1)
  }

  #wait({ account, signal, deadline }: Turn): Promise<void> {
    const line = this.#waiting.get(account) ?? []
    const ends = this.#turnsAhead(account) + 1
    // A turn without a deadline belongs to a search in progress, whose pages must not be lost.
    const isFull = deadline !== null && line.length >= this.#limits.waitingPerAccount
    if (isFull || !this.#isInTime(deadline, ends)) throw this.#refusal(ends)
    this.#waiting.set(account, line)
    return new Promise((resolve, reject) => {
      const leave = () => {
        const left = this.#waiting.get(account)?.filter((one) => one !== waiter) ?? []
        if (left.length === 0) this.#waiting.delete(account)
        else this.#waiting.set(account, left)
        reject(this.#refusal(this.#turnsAhead(account) + 1))
      }
      const waiter: Waiter = {
        deadline,
        end: (refusal) => {
          signal.removeEventListener('abort', leave)
          if (refusal === null) resolve()
          else reject(refusal)
        },
      }
      line.push(waiter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  #vacate(account: number): void {
    this.#free += 1
    const left = this.#workingOf(account) - 1
    if (left === 0) this.#working.delete(account)
    else this.#working.set(account, left)
    this.#beginNext()
  }

  /** Begins the next turn. Takes its slot here, before a newly arrived turn can see that it is free. */
  #beginNext(): void {
    for (const [account, line] of this.#waiting) {
      if (!this.#hasPlace(account)) continue
      const next = this.#takeInTime(line)
      // Move the account behind all others.
      this.#waiting.delete(account)
      if (line.length > 0) this.#waiting.set(account, line)
      if (next === undefined) continue
      this.#occupy(account)
      return next.end(null)
    }
  }

  /** Takes the first turn that can be in time out of a line, and refuses those before it. */
  #takeInTime(line: Waiter[]): Waiter | undefined {
    for (let one = line.shift(); one !== undefined; one = line.shift()) {
      if (this.#isInTime(one.deadline, 0)) return one
      one.end(this.#refusal(0))
    }
    return undefined
  }

  /** The turns that are served before the next one of the account. */
  #turnsAhead(account: number): number {
    const own = this.#waiting.get(account)?.length ?? 0
    let ahead = own
    // Accounts ahead of this one in the round get one more turn.
    let round = own + 1
    for (const [other, line] of this.#waiting) {
      if (other === account) round = own
      else ahead += Math.min(line.length, round)
    }
    return ahead
  }

  /**
   * True when a turn that starts after this many others have ended can meet its deadline, or while there is no
   * estimate.
   */
  #isInTime(deadline: number | null, ends: number): boolean {
    if (deadline === null || this.#turnMs === null) return true
    return performance.now() + this.#waitMs(ends) + this.#turnMs <= deadline
  }

  /** Estimated time until this many turns have ended. */
  #waitMs(ends: number): number {
    // If a slot is free while turns wait, the accounts of those turns have reached their limit.
    return (ends * (this.#turnMs ?? 0)) / Math.max(1, this.#limits.places - this.#free)
  }

  // 429 and not 503: to clients a 429 means "not done, not charged, slow down", and a 503 a failure that may have been
  // charged.
  #refusal(ends: number): Refusal {
    const seconds = Math.ceil(this.#waitMs(ends) / 1000)
    const text =
      'Too many searches are ahead of this one for it to be answered in time; nothing was charged'
    return new Refusal(429, text, {
      'retry-after': String(Math.min(longestRetrySeconds, Math.max(1, seconds))),
    })
  }

  /** Averages the last turns without the slowest, so that one slow search does not block a whole queue. */
  #observe(ms: number): void {
    this.#observed = [...this.#observed, ms].slice(-observedTurns)
    const sorted = this.#observed.toSorted((a, b) => a - b)
    const counted = sorted.slice(0, Math.max(1, sorted.length - 1))
    this.#turnMs = counted.reduce((sum, one) => sum + one, 0) / counted.length
  }
}
