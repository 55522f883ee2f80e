// Tracks outages of other systems, and holds calls back during outages.

import type { Bought } from '../ledger/entry.ts'
import { policy, type Verdict } from '../search/verdict.ts'
import type { Clocks, Lease } from '../ledger/leases.ts'

/** Systems outside this process. A standby, or a database with a full disk, can be read but not written to. */
type Part = 'the database' | 'a writable database' | 'the queue' | 'the API'

/** Records when each system became unreachable. */
export class Outages {
  readonly #since = new Map<Part, number>()

  mark(part: Part, away: boolean): void {
    if (!away) this.#since.delete(part)
    else if (!this.#since.has(part)) this.#since.set(part, performance.now())
  }

  /** Records whether the database is writable, and reports each change. */
  markDatabase(away: boolean, say: (line: string) => void): void {
    const was = this.away('a writable database')
    this.mark('a writable database', away)
    if (away && !was) say('the database is unreachable; no calls start until it is available again')
    if (!away && was) say('the database is available again')
  }

  /** True if the database is not responding or not writable. */
  get mute(): boolean {
    return this.away('the database') || this.away('a writable database')
  }

  away(part: Part): boolean {
    return this.#since.has(part)
  }

  list(): readonly string[] {
    return [...this.#since.keys()].map((part) => `${part} is unreachable`)
  }

  longerThan(ms: number): Part | null {
    for (const [part, since] of this.#since) if (performance.now() - since >= ms) return part
    return null
  }
}

interface BrakeOptions {
  readonly lease: Pick<Lease, 'covers'>
  readonly timeoutMs: number
  readonly outages: Outages
  /** Called when calls can be sent again. */
  readonly nudge: () => void
  readonly now?: () => number
}

const apiPauseMs = 2_000
const shortestHoldMs = 1_000
const longestHoldMs = 3_600_000
/** Codes of calls held back by this worker. These codes do not mean that the API is unreachable. */
const ourOwn = new Set(['LEASE_TOO_SHORT', 'STOPPED', 'ENDING'])

/** Prevents further calls after an outage or a reply that requires a stop. */
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

  /** Returns the reason why a call must not be sent, or null. `term` is the lease's state before the reservation. */
  heldBack(term: Clocks): string | null {
    const { lease, timeoutMs } = this.#options
    if (!lease.covers(timeoutMs, term)) return 'LEASE_TOO_SHORT'
    if (this.#keyRefused || this.#now() < this.#holdUntil) return 'STOPPED'
    return this.#ending ? 'ENDING' : null
  }

  /** Limits the free lanes to one while the API is unreachable, and to none between attempts to reach it. */
  allow(free: number): number {
    if (!this.#options.outages.away('the API')) return free
    return this.#now() < this.#tryApiAt ? 0 : Math.min(1, free)
  }

  /** Applies a reply to this worker before other workers can see the reply. */
  applyReply({ reply, verdict }: Bought): void {
    const { stops } = policy[verdict.kind]
    if (stops === 'rate') {
      const wait = Math.min(verdict.waitMs ?? shortestHoldMs, longestHoldMs)
      this.#holdUntil = Math.max(this.#holdUntil, this.#now() + wait)
    }
    if (stops === 'auth') this.#keyRefused = true
    if (reply.kind !== 'unsent') this.#options.outages.mark('the API', false)
    else if (!ourOwn.has(reply.code)) this.#pauseApi()
  }

  /** Called after the verdict is stored, because a stop in the database then prevents reservations. */
  recorded(verdict: Verdict): void {
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

/** Records the order of calls, to find out whether the API later accepted a rejected key. */
export class KeyCheck {
  /** Calls in flight by task, oldest first. */
  readonly #begun = new Map<number, number>()
  /** Number of the first call for which the API rejected the key, by task. */
  readonly #refused = new Map<number, number>()
  readonly #refutedBefore: (task: number) => Promise<boolean>
  #count = 0
  #newestAnswered = 0
  #wake: (() => void)[] = []

  /** `refutedBefore` returns true if another process recorded an answer to a later call with the same key. */
  constructor(refutedBefore: (task: number) => Promise<boolean> = async () => false) {
    this.#refutedBefore = refutedBefore
  }

  begin(task: number): void {
    this.#count += 1
    this.#begun.set(task, this.#count)
  }

  /** Checks a rejected key against later calls. If a later call was answered, the API rejected only the query. */
  async confirm({ task, verdict }: Bought): Promise<Verdict> {
    const began = this.#begun.get(task.id)
    if (began === undefined) return verdict
    if (verdict.kind === 'answered') this.#newestAnswered = Math.max(this.#newestAnswered, began)
    this.forget(task.id)
    if (verdict.kind !== 'key_refused') return verdict
    // If this query was rejected before, but other queries have been answered since, the key is not blamed again.
    const first = this.#refused.get(task.id) ?? began
    this.#refused.set(task.id, first)
    while (this.#newestAnswered < first && this.#anyAfter(first)) {
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
    const refuted = this.#newestAnswered > first || (await this.#refutedBefore(task.id))
    return refuted ? { ...verdict, kind: 'blocked' } : verdict
  }

  /** Stops waiting for a call whose reply is not recorded. */
  forget(task: number): void {
    this.#begun.delete(task)
    for (const wake of this.#wake.splice(0)) wake()
  }

  #anyAfter(began: number): boolean {
    for (const other of this.#begun.values()) if (other > began) return true
    return false
  }
}
