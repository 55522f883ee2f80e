import type pg from 'pg'
import { reserveCredits, type Charge, type CreditWish, type Unpaid } from './credits.ts'
import type { FoundKey } from './keyring.ts'
import { clientLeft } from './refusal.ts'

// Settled by another process, a credit is free without a word to this one.
const lookAgainMs = 100
const usualPatienceMs = 10_000

/** Credits that somebody waits for. */
interface PurseWish extends CreditWish {
  /** Aborted when the client has gone away. */
  readonly gone: AbortSignal
}

interface Patience {
  readonly key: FoundKey
  readonly want: PurseWish
  /** Time of `performance.now()` from which on nothing is waited for. */
  readonly end: number
}

interface Line {
  /** Ends when the last one of the line has had its turn. */
  last: Promise<unknown>
  length: number
  wake: () => void
}

/** Sets credits aside, and waits for those that requests in work may give back before it says that there are none. */
export class Purse {
  readonly #pool: pg.Pool
  readonly #patienceMs: number
  readonly #lines = new Map<number, Line>()

  constructor(pool: pg.Pool, patienceMs = usualPatienceMs) {
    this.#pool = pool
    this.#patienceMs = patienceMs
  }

  /** `busy` only when the others kept theirs for longer than anybody should wait. */
  async reserve(key: FoundKey, want: PurseWish): Promise<Charge | Unpaid> {
    // Counted from here: nobody waits for the patience of those before, one after the other.
    const end = performance.now() + this.#patienceMs
    if (!this.#lines.has(key.accountId)) {
      const first = await reserveCredits(this.#pool, key, want)
      if (first.kind !== 'busy') return first
    }
    return await this.#inLine(key.accountId, (line) => this.#patiently(line, { key, want, end }))
  }

  /** Credits of the account came back: whoever waits for some looks again. */
  wake(account: number): void {
    this.#lines.get(account)?.wake()
  }

  /** In order of arrival: a dear search is not overtaken for ever by cheap ones. */
  async #inLine<T>(account: number, work: (line: Line) => Promise<T>): Promise<T> {
    const line = this.#lines.get(account) ?? {
      last: Promise.resolve(),
      length: 0,
      wake: () => undefined,
    }
    this.#lines.set(account, line)
    line.length += 1
    const turn = line.last.then(() => work(line))
    line.last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      line.length -= 1
      if (line.length === 0) this.#lines.delete(account)
    }
  }

  async #patiently(line: Line, { key, want, end }: Patience): Promise<Charge | Unpaid> {
    for (;;) {
      if (want.gone.aborted) throw clientLeft()
      const woken = new Promise<void>((resolve) => {
        line.wake = resolve
        setTimeout(resolve, lookAgainMs)
      })
      const found = await reserveCredits(this.#pool, key, want)
      if (found.kind !== 'busy' || performance.now() > end) return found
      await woken
    }
  }
}
