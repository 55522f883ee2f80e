/** Counts the requests of each key in windows of one second. Each process counts for itself. */
export class RateLimiter {
  readonly #windows = new Map<number, { second: number; count: number }>()

  /** What the headers say about the key, and whether this request is one too many. */
  take(keyId: number, limit: number, nowMs: number): RateState {
    const second = Math.floor(nowMs / 1000)
    const window = this.#windows.get(keyId)
    const count = window?.second === second ? window.count + 1 : 1
    this.#windows.set(keyId, { second, count })
    return { allowed: count <= limit, limit, left: Math.max(0, limit - count) }
  }
}

export interface RateState {
  readonly allowed: boolean
  readonly limit: number
  readonly left: number
}

/** The headers that name a limit; the window is one second, so one second is always long enough. */
export function rateHeaders(state: RateState): Record<string, string> {
  return {
    'x-ratelimit-limit': String(state.limit),
    'x-ratelimit-remaining': String(state.left),
    'x-ratelimit-reset': '1',
    ...(state.allowed ? {} : { 'retry-after': '1' }),
  }
}
