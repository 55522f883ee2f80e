/**
 * Shares the few places at an upstream between accounts: round-robin over accounts, first in first out within one.
 * A turn that cannot be over by its deadline is refused as soon as that is known.
 */
import { Refusal } from '../refusal.ts'

interface QueueLimits {
  /** Turns at the upstream at the same time. */
  readonly places: number
  /** Those of one account at the same time. */
  readonly placesPerAccount: number
  /** Turns of one account that wait; one more with a deadline is refused. */
  readonly waitingPerAccount: number
}

/** One piece of work at the upstream: a whole search, or one page of it. */
export interface Turn {
  readonly account: number
  /** When this aborts, a turn that has not begun leaves the queue. */
  readonly signal: AbortSignal
  /** Time of `performance.now()` at which the turn must be over; null: it waits for as long as the signal allows. */
  readonly deadline: number | null
}

interface Waiter {
  readonly deadline: number | null
  readonly begin: () => void
  readonly refuse: (refusal: Refusal) => void
}

const observedTurns = 16
const longestRetrySeconds = 60

export class FairQueue {
  readonly #limits: QueueLimits
  /** The FIFO of each account that waits; the first account is the next one to be served. */
  #waiting = new Map<number, Waiter[]>()
  readonly #working = new Map<number, number>()
  #free: number
  /** How long the last turns took. */
  #observed: readonly number[] = []
  /** Estimate of how long a turn takes; null until the first one is over. */
  #turnMs: number | null = null

  constructor(limits: QueueLimits) {
    this.#limits = limits
    this.#free = limits.places
  }

  /** Does the work when it is its turn. Throws a 429 when the turn cannot be over by its deadline. */
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
    // A turn without a deadline goes on with a search that was let in before: its pages are not thrown away.
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
        begin: () => {
          signal.removeEventListener('abort', leave)
          resolve()
        },
        refuse: (refusal) => {
          signal.removeEventListener('abort', leave)
          reject(refusal)
        },
      }
      line.push(waiter)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  #vacate(account: number): void {
    this.#refuseLate()
    this.#free += 1
    const left = this.#workingOf(account) - 1
    if (left === 0) this.#working.delete(account)
    else this.#working.set(account, left)
    this.#beginNext()
  }

  /** The place is taken here, before a newcomer can see it free. */
  #beginNext(): void {
    for (const [account, line] of this.#waiting) {
      if (!this.#hasPlace(account)) continue
      const next = line.shift()
      // Its next turn comes after one of every other account.
      this.#waiting.delete(account)
      if (line.length > 0) this.#waiting.set(account, line)
      if (next === undefined) continue
      this.#occupy(account)
      next.begin()
      return
    }
  }

  /** At the end of a turn: walks the queue in the order of service, and refuses every turn that will be late. */
  #refuseLate(): void {
    const kept = new Map<number, Waiter[]>()
    let ends = 0
    let round = [...this.#waiting].map(([account, line]) => ({ account, rest: line.toReversed() }))
    while (round.length > 0) {
      for (const { account, rest } of round) {
        const waiter = this.#takeInTime(rest, ends)
        if (waiter === null) continue
        const line = kept.get(account)
        if (line === undefined) kept.set(account, [waiter])
        else line.push(waiter)
        ends += 1
      }
      round = round.filter(({ rest }) => rest.length > 0)
    }
    this.#waiting = kept
  }

  /** Takes the last one that can be in time, and refuses those behind it. */
  #takeInTime(reversed: Waiter[], ends: number): Waiter | null {
    for (let one = reversed.pop(); one !== undefined; one = reversed.pop()) {
      if (this.#isInTime(one.deadline, ends)) return one
      one.refuse(this.#refusal(ends))
    }
    return null
  }

  /** Turns that begin before the next one that the account asks for. */
  #turnsAhead(account: number): number {
    const own = this.#waiting.get(account)?.length ?? 0
    let ahead = own
    // Of the others, those that are next before this account have one turn more.
    let round = own + 1
    for (const [other, line] of this.#waiting) {
      if (other === account) round = own
      else ahead += Math.min(line.length, round)
    }
    return ahead
  }

  /** Whether a turn that begins after so many others have ended is over by its deadline; true without an estimate. */
  #isInTime(deadline: number | null, ends: number): boolean {
    if (deadline === null || this.#turnMs === null) return true
    return performance.now() + this.#waitMs(ends) + this.#turnMs <= deadline
  }

  /** Estimate of the time until so many turns have ended. */
  #waitMs(ends: number): number {
    // A place that is free while others wait is one that their accounts may not take.
    return (ends * (this.#turnMs ?? 0)) / Math.max(1, this.#limits.places - this.#free)
  }

  // 429 and not 503: clients take a 429 as "not done, not charged, slow down", and a 503 as a failure that may have cost.
  #refusal(ends: number): Refusal {
    const seconds = Math.ceil(this.#waitMs(ends) / 1000)
    const text = 'Too many searches wait for this one to be answered in time; nothing was charged'
    return new Refusal(429, text, {
      'retry-after': String(Math.min(longestRetrySeconds, Math.max(1, seconds))),
    })
  }

  /** The mean of the last turns without the slowest: one slow search does not refuse a whole queue. */
  #observe(ms: number): void {
    this.#observed = [...this.#observed, ms].slice(-observedTurns)
    const sorted = this.#observed.toSorted((a, b) => a - b)
    const counted = sorted.slice(0, Math.max(1, sorted.length - 1))
    this.#turnMs = counted.reduce((sum, one) => sum + one, 0) / counted.length
  }
}
