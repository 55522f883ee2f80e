import { Refusal } from '../refusal.ts'

export interface GateSizes {
  /** Searches at work at once. */
  readonly total: number
  /** Those of one account: the others go on finding a free place. */
  readonly each: number
  /** Searches of one account that wait; one more is told to come back. */
  readonly line: number
}

interface Waiting {
  readonly account: number
  readonly enter: () => void
}

/** Lets few searches work at once, and of one account fewer still, in the order in which they came. */
export class Gate {
  readonly #sizes: GateSizes
  readonly #atWork = new Map<number, number>()
  #free: number
  #line: Waiting[] = []

  constructor(sizes: GateSizes) {
    this.#sizes = sizes
    this.#free = sizes.total
  }

  /** Does the work when it is its turn, unless the signal comes first. */
  async pass<T>(account: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    if (this.#hasRoom(account)) this.#take(account)
    else await this.#wait(account, signal)
    try {
      return await work()
    } finally {
      this.#leave(account)
    }
  }

  #hasRoom(account: number): boolean {
    return this.#free > 0 && this.#count(account) < this.#sizes.each
  }

  #count(account: number): number {
    return this.#atWork.get(account) ?? 0
  }

  #take(account: number): void {
    this.#free -= 1
    this.#atWork.set(account, this.#count(account) + 1)
  }

  #wait(account: number, signal: AbortSignal): Promise<void> {
    if (this.#line.filter((one) => one.account === account).length >= this.#sizes.line) {
      throw new Refusal(429, 'Too many searches at once; nothing was charged', {
        'retry-after': '1',
      })
    }
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#line = this.#line.filter((one) => one !== waiting)
        reject(signal.reason as Error)
      }
      const enter = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const waiting = { account, enter }
      this.#line.push(waiting)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  #leave(account: number): void {
    this.#free += 1
    const left = this.#count(account) - 1
    if (left === 0) this.#atWork.delete(account)
    else this.#atWork.set(account, left)
    const next = this.#line.findIndex((one) => this.#hasRoom(one.account))
    if (next === -1) return
    const [first] = this.#line.splice(next, 1)
    if (first === undefined) return
    // The place is taken here, before anybody else who comes can see it free.
    this.#take(first.account)
    first.enter()
  }
}
