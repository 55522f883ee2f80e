import type { CreditOutlook } from '../../credits/foresee.ts'
import { restAfter } from './rest.ts'

const leastMs = 2_000

/** Keeps the outlook for as long as it was dear to compute. */
export class Outlooks {
  #kept: { readonly outlook: CreditOutlook | null; readonly until: number } | null = null
  #reading: Promise<CreditOutlook | null> | null = null

  /** The outlook; null where it takes longer than a look may wait for. */
  async read(look: () => Promise<CreditOutlook | null>): Promise<CreditOutlook | null> {
    if (this.#kept !== null && this.#kept.until > performance.now()) return this.#kept.outlook
    this.#reading ??= this.#look(look)
    return this.#reading
  }

  async #look(look: () => Promise<CreditOutlook | null>): Promise<CreditOutlook | null> {
    const began = performance.now()
    try {
      const outlook = await look()
      this.#kept = { outlook, until: performance.now() + restAfter(began, leastMs) }
      return outlook
    } finally {
      this.#reading = null
    }
  }
}
