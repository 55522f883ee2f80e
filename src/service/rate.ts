import type pg from 'pg'
import type { FoundKey } from './keyring.ts'
import { Refusal } from './refusal.ts'

export interface RateLimits {
  /** Requests a second of the test keys of one account. */
  readonly test: number
  /** Requests a second of an account without a limit of its own: what nobody reaches who means well. */
  readonly live: number
}

/** What is allowed to everybody unless the operator says otherwise. */
export const usualLimits: RateLimits = { test: 1000, live: 10_000 }

/** Counts the requests of each account in windows of one second. */
export class Turnstile {
  readonly #pool: pg.Pool
  readonly #limits: RateLimits
  readonly #windows = new Map<string, { second: number; count: number }>()

  constructor(pool: pg.Pool, limits: RateLimits) {
    this.#pool = pool
    this.#limits = limits
  }

  /** The headers that name the limit of a key; throws when this request is one too many. */
  async pass(key: FoundKey): Promise<Record<string, string>> {
    const { accountId, kind } = key
    const limit = kind === 'test' ? this.#limits.test : (key.rate ?? this.#limits.live)
    let count = this.#count(`${kind} ${accountId}`)
    // A limit that was agreed on holds over all processes. What is over it here already is not counted there.
    if (kind === 'live' && key.rate !== null && count <= limit)
      count = await this.#countAll(accountId)
    const headers = rateHeaders(limit, count)
    if (count <= limit) return headers
    const many = limit === 1 ? '1 request' : `${limit} requests`
    throw new Refusal(429, `At most ${many} a second`, { ...headers, 'retry-after': '1' })
  }

  #count(name: string): number {
    const second = Math.floor(Date.now() / 1000)
    const window = this.#windows.get(name)
    if (window === undefined || window.second !== second) {
      this.#windows.set(name, { second, count: 1 })
      return 1
    }
    window.count += 1
    return window.count
  }

  async #countAll(account: number): Promise<number> {
    const { rows } = await this.#pool.query<{ taken: number }>({
      name: 'count-request',
      text: `
        insert into rates as present (account_id, second, taken)
        values ($1, floor(extract(epoch from now()))::bigint, 1)
        on conflict (account_id) do update
        set
          second = excluded.second,
          taken = 1 + case when present.second = excluded.second then present.taken else 0 end
        returning taken`,
      values: [account],
    })
    return rows[0]?.taken ?? 1
  }
}

/** The window is one second, so one second is always long enough. */
function rateHeaders(limit: number, count: number): Record<string, string> {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(Math.max(0, limit - count)),
    'x-ratelimit-reset': '1',
  }
}
