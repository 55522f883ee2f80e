// Schedules searches at an upstream with few slots, round-robin by account and then by order of arrival.

import { Refusal } from '../refusal.ts'

type QueueLimits = Readonly<Record<'places' | 'placesPerAccount' | 'waitingPerAccount', number>>

/** A unit of work at the upstream: a whole search, or one page of results. */
interface Turn {
  readonly account: number
  /** When this signal is aborted, a turn that has not begun is removed from the queue. */
  readonly signal: AbortSignal
  /** Latest end of the turn, in `performance.now()` time. If null, only the signal limits the wait. */
  readonly deadline: number | null
}

interface Waiter extends Pick<Turn, 'deadline'> {
  readonly begin: () => void
  readonly refuse: (refusal: Refusal) => void
}

export class FairQueue {
  readonly #limits: QueueLimits
  /** Waiting turns by account. The account at the front is served next. */
  readonly #waiting = new Map<number, Waiter[]>()
  readonly #working: number[] = []
  #observed: readonly number[] = []
  #turnMs: number | null = null

  constructor(limits: QueueLimits) {
    this.#limits = limits
  }

  /** Waits for a slot, then does the work. Throws a 429 error early if the turn cannot end by its deadline. */
  async run<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
    turn.signal.throwIfAborted()
    if (this.#hasPlace(turn.account)) this.#working.push(turn.account)
    else await this.#wait(turn)
    const start = performance.now()
    try {
      return await work()
    } finally {
      this.#observe(performance.now() - start)
      this.#working.splice(this.#working.indexOf(turn.account), 1)
      this.#beginNext()
    }
  }

  #hasPlace(account: number): boolean {
    const own = this.#working.filter((one) => one === account)
    const { places, placesPerAccount } = this.#limits
    return this.#working.length < places && own.length < placesPerAccount
  }

  #wait({ account, signal, deadline }: Turn): Promise<void> {
    const line = this.#waiting.get(account) ?? []
    const ends = this.#turnsAhead(account) + 1
    // A turn without a deadline belongs to a search in progress, and is never refused.
    const isFull = deadline !== null && line.length >= this.#limits.waitingPerAccount
    if (isFull || !this.#isInTime(deadline, ends)) throw this.#refusal(ends)
    this.#waiting.set(account, line)
    return new Promise((resolve, reject) => {
      const waiter = { deadline, begin: resolve, refuse: reject }
      line.push(waiter)
      signal.addEventListener('abort', () => {
        const place = line.indexOf(waiter)
        if (place < 0) return
        line.splice(place, 1)
        if (line.length === 0) this.#waiting.delete(account)
        reject(this.#refusal(this.#turnsAhead(account) + 1))
      })
    })
  }

  /** Gives the free slot to the next waiting turn, ahead of new turns. */
  #beginNext(): void {
    for (const [account, line] of this.#waiting) {
      if (!this.#hasPlace(account)) continue
      let next = line.shift()
      for (; next !== undefined && !this.#isInTime(next.deadline, 0); next = line.shift()) {
        next.refuse(this.#refusal(0))
      }
      // The account moves to the end of the queue, behind all other accounts.
      this.#waiting.delete(account)
      if (line.length > 0) this.#waiting.set(account, line)
      if (next === undefined) continue
      this.#working.push(account)
      return next.begin()
    }
  }

  /** Counts the turns that come before a new turn for the account. */
  #turnsAhead(account: number): number {
    const own = this.#waiting.get(account)?.length ?? 0
    let ahead = own
    // Accounts earlier in the round are served once more before this turn.
    let round = own + 1
    for (const [other, line] of this.#waiting) {
      if (other === account) round = own
      else ahead += Math.min(line.length, round)
    }
    return ahead
  }

  /** True if a search can wait for this many turns and meet its deadline, or if no estimate is available yet. */
  #isInTime(deadline: number | null, ends: number): boolean {
    if (deadline === null || this.#turnMs === null) return true
    return performance.now() + this.#waitMs(ends) + this.#turnMs <= deadline
  }

  #waitMs(ends: number): number {
    // A slot can stay free if the accounts of all waiting turns have reached their limit.
    return (ends * (this.#turnMs ?? 0)) / Math.max(1, this.#working.length)
  }

  // A 429 means that nothing was charged. After a 503, a failed search may have been charged.
  #refusal(ends: number): Refusal {
    const seconds = Math.min(60, Math.max(1, Math.ceil(this.#waitMs(ends) / 1000)))
    const text =
      'Too many searches are ahead of this one, so it cannot be answered in time; nothing was charged'
    return new Refusal(429, text, { 'retry-after': String(seconds) })
  }

  /** Updates the estimate. Excludes the slowest turn, so that a single slow search does not cause refusals. */
  #observe(ms: number): void {
    this.#observed = [...this.#observed, ms].slice(-16)
    const count = Math.max(1, this.#observed.length - 1)
    const counted = this.#observed.toSorted((a, b) => a - b).slice(0, count)
    this.#turnMs = counted.reduce((sum, one) => sum + one) / count
  }
}
