import type { Lease } from './lease.ts'
import type { Outages } from './outages.ts'
import type { Clocks } from './term.ts'
import type { Bought } from '../../pipeline.ts'
import { policy } from '../../search/policy.ts'
import type { Verdict } from '../../search/verdict.ts'

export interface BrakeOptions {
  readonly lease: Pick<Lease, 'covers'>
  readonly timeoutMs: number
  readonly outages: Outages
  /** Called when calls may be tried again. */
  readonly nudge: () => void
  /** The clock that waits are measured by. */
  readonly now?: () => number
}

const apiPauseMs = 2_000
const shortestHoldMs = 1_000
const longestHoldMs = 3_600_000
/** Reasons of our own for not sending: they say nothing about the API. */
const ourOwn = new Set(['LEASE_TOO_SHORT', 'STOPPED', 'ENDING', 'ABORTED'])

/** Holds calls back in the last instant before they are sent, reserved or not, by what this process has just learnt. */
export class Brake {
  readonly #options: BrakeOptions
  #holdUntil = 0
  #keyRefused = false
  #ending = false
  #tryApiAt = 0
  readonly #now: () => number

  constructor(options: BrakeOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /**
   * Why a call may not be sent any more; null when it may. `term` is the lease as it was known before the call was asked
   * for: one that was renewed since may have run out in between, and the call been given up.
   */
  heldBack(term: Clocks): string | null {
    const { lease, timeoutMs } = this.#options
    if (!lease.covers(timeoutMs, term)) return 'LEASE_TOO_SHORT'
    if (this.#keyRefused || this.#now() < this.#holdUntil) return 'STOPPED'
    return this.#ending ? 'ENDING' : null
  }

  /** Of these free lanes, those that may be filled: one while the API is out of reach, none between two tries. */
  allow(free: number): number {
    if (!this.#options.outages.away('the API')) return free
    return this.#now() < this.#tryApiAt ? 0 : Math.min(1, free)
  }

  /** Heeds a reply at once, before it is written down for the other workers. */
  heed({ reply, verdict }: Bought): void {
    const { stops } = policy[verdict.kind]
    if (stops === 'rate') {
      const asked = 'waitMs' in verdict ? verdict.waitMs : null
      const wait = Math.min(asked ?? shortestHoldMs, longestHoldMs)
      this.#holdUntil = Math.max(this.#holdUntil, this.#now() + wait)
    }
    if (stops === 'auth') this.#keyRefused = true
    if (reply.kind !== 'unsent') this.#options.outages.mark('the API', false)
    else if (!ourOwn.has(reply.code)) this.#pauseApi()
  }

  /** The verdict is in the tables: from here on the gate refuses for it. */
  written(verdict: Verdict): void {
    if (policy[verdict.kind].stops === 'auth') this.#keyRefused = false
  }

  end(): void {
    this.#ending = true
  }

  #pauseApi(): void {
    this.#options.outages.mark('the API', true)
    this.#tryApiAt = this.#now() + apiPauseMs
    setTimeout(() => this.#options.nudge(), apiPauseMs + 1).unref()
  }
}
