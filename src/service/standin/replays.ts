/** What a request cost, and the balance after it. */
export interface Paid {
  readonly used: number
  readonly remaining: number
}

/** Requests by the key that they bore: the same key is charged once, as services do that know `Idempotency-Key`. */
export class Replays {
  readonly #paid = new Map<string, Promise<Paid | null>>()

  /** What an earlier request with the key cost, once that is known; null when nothing was charged for it. */
  async find(key: string | null): Promise<Paid | null> {
    return key === null ? null : ((await this.#paid.get(key)) ?? null)
  }

  /** Remembers what becomes of a request: the function is told once that is known. */
  begin(key: string | null): (paid: Paid | null) => void {
    let tell: (paid: Paid | null) => void = () => undefined
    if (key !== null) this.#paid.set(key, new Promise((resolve) => (tell = resolve)))
    return (paid) => tell(paid)
  }
}
