/**
 * Schedules searches at an upstream that has few slots. Accounts are served round-robin, and the turns of one account
 * in the order of arrival. A turn that cannot end by its deadline is refused when it arrives, or when it would begin.
 */
import { Refusal } from '../refusal.ts'

interface QueueLimits {
  /** Maximum number of turns in progress. */
  readonly places: number
  readonly placesPerAccount: number
  /** Maximum number of queued turns per account. Beyond this limit, turns with a deadline are refused. */
  readonly waitingPerAccount: number
}

/** One piece of work at the upstream: a whole search, or one page of it. */
export interface Turn {
  readonly account: number
  /** When this signal aborts, a turn that has not begun leaves the queue. */
  readonly signal: AbortSignal
  /** Time of `performance.now()` by which the turn must end. With null, only the signal limits the wait. */
  readonly deadline: number | null
}

interface Waiter {
  readonly deadline: number | null
  /** Ends the wait of a turn. With null, the turn begins. With a refusal, the turn is refused. */
  readonly end: (refusal: Refusal | null) => void
}

const observedTurns = 16

export class FairQueue {
  readonly #limits: QueueLimits
  /** The queue of each account with waiting turns. The first account in the map is served next. */
  readonly #waiting = new Map<number, Waiter[]>()
  /** Turns in progress, in total and by account. */
  #busy = 0
  readonly #working = new Map<number, number>()
  /** Durations of the last turns. */
  #observed: readonly number[] = []
  /** Estimated duration of a turn; null until the first turn has ended. */
  #turnMs: number | null = null

  constructor(limits: QueueLimits) {
    this.#limits = limits
  }

  /** Waits for a slot, and does the work. Throws a 429 if the turn cannot end by its deadline. */
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
    const { places, placesPerAccount } = this.#limits
    return this.#busy < places && this.#workingOf(account) < placesPerAccount
  }

  #workingOf(account: number): number {
    return this.#working.get(account) ?? 0
  }

  #occupy(account: number): void {
    this.#busy += 1
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
      const end = (refusal: Refusal | null) => {
        signal.removeEventListener('abort', leave)
        if (refusal === null) resolve()
        else reject(refusal)
      }
      const waiter = { deadline, end }
      line.push(waiter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  #vacate(account: number): void {
    this.#busy -= 1
    const left = this.#workingOf(account) - 1
    if (left === 0) this.#working.delete(account)
    else this.#working.set(account, left)
    this.#beginNext()
  }

  /** Begins the next turn. The slot is taken here, before a turn that arrives now can see that the slot is free. */
  #beginNext(): void {
    for (const [account, line] of this.#waiting) {
      if (!this.#hasPlace(account)) continue
      let next = line.shift()
      for (; next !== undefined && !this.#isInTime(next.deadline, 0); next = line.shift()) {
        next.end(this.#refusal(0))
      }
      // The account moves behind all other accounts.
      this.#waiting.delete(account)
      if (line.length > 0) this.#waiting.set(account, line)
      if (next === undefined) continue
      this.#occupy(account)
      return next.end(null)
    }
  }

  /** Counts the turns that are served before a new turn of the account. */
  #turnsAhead(account: number): number {
    const own = this.#waiting.get(account)?.length ?? 0
    let ahead = own
    // Accounts that come before this account in the round are served one more turn.
    let round = own + 1
    for (const [other, line] of this.#waiting) {
      if (other === account) round = own
      else ahead += Math.min(line.length, round)
    }
    return ahead
  }

  /**
   * True if a turn can meet its deadline when it starts after the given number of other turns have ended. Also true as
   * long as the duration of a turn is unknown.
   */
  #isInTime(deadline: number | null, ends: number): boolean {
    if (deadline === null || this.#turnMs === null) return true
    return performance.now() + this.#waitMs(ends) + this.#turnMs <= deadline
  }

  /** Estimates the time until the given number of turns have ended. */
  #waitMs(ends: number): number {
    // A slot can be free while turns wait, if the accounts of the waiting turns have reached their limit.
    return (ends * (this.#turnMs ?? 0)) / Math.max(1, this.#busy)
  }

  // The status is 429 rather than 503. To clients, 429 means "not done, not charged, slow down", and 503 means a
  // failure that may have been charged.
  #refusal(ends: number): Refusal {
    const seconds = Math.min(60, Math.max(1, Math.ceil(this.#waitMs(ends) / 1000)))
    const text =
      'Too many searches are ahead of this one for it to be answered in time; nothing was charged'
    return new Refusal(429, text, { 'retry-after': String(seconds) })
  }

  /**
   * Computes the mean duration of the last turns without the slowest turn, so that one slow search does not block a
   * whole queue.
   */
  #observe(ms: number): void {
    this.#observed = [...this.#observed, ms].slice(-observedTurns)
    const [first = ms, ...others] = this.#observed.toSorted((a, b) => a - b)
    const counted = [first, ...others.slice(0, -1)]
    this.#turnMs = counted.reduce((sum, one) => sum + one, 0) / counted.length
  }
}
