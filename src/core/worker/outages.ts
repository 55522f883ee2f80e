// Parts that work depends on, and the brake when they fail.

import type { Bought } from '../ledger/entry.ts'
import { policy, type Verdict } from '../search/verdict.ts'
import type { Clocks, Lease } from '../ledger/leases.ts'

/** Parts outside of this process that work depends on. A full disk, or a standby, may be read and not written. */
type Part = 'the database' | 'a database that can be written' | 'the queue' | 'the API'

/** Remembers since when each part has been out of reach. */
export class Outages {
  readonly #since = new Map<Part, number>()

  mark(part: Part, away: boolean): void {
    if (!away) this.#since.delete(part)
    else if (!this.#since.has(part)) this.#since.set(part, performance.now())
  }

  /** Marks whether the database can be written, and says so whenever that has changed. */
  markDatabase(away: boolean, say: (line: string) => void): void {
    const was = this.away('a database that can be written')
    this.mark('a database that can be written', away)
    if (away && !was) say('the database is out of reach: no call begins until it is back')
    if (!away && was) say('the database is back')
  }

  /** True when the database cannot be written, or does not answer. */
  get mute(): boolean {
    return this.away('the database') || this.away('a database that can be written')
  }

  away(part: Part): boolean {
    return this.#since.has(part)
  }

  /** The parts that are out of reach, one line each. */
  list(): readonly string[] {
    return [...this.#since.keys()].map((part) => `${part} is out of reach`)
  }

  /** The part that has been unreachable for at least this long; null when all respond. */
  longerThan(ms: number): Part | null {
    for (const [part, since] of this.#since) if (performance.now() - since >= ms) return part
    return null
  }
}

interface BrakeOptions {
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

/** Remembers which calls began when, so that a refused key can be held against answers that the same key got. */
export class Witnesses {
  /** Calls on their way, by task, in the order in which they began. */
  readonly #begun = new Map<number, number>()
  /** Tasks whose call was answered with a refused key, and when the first such call began. */
  readonly #refused = new Map<number, number>()
  readonly #refutedBefore: (task: number) => Promise<boolean>
  #count = 0
  #newestAnswered = 0
  #wake: (() => void)[] = []

  /** `refutedBefore` tells what other processes saw: the key was answered after it had seemed refused for this task. */
  constructor(refutedBefore: (task: number) => Promise<boolean> = async () => false) {
    this.#refutedBefore = refutedBefore
  }

  /** The call of a task is sent now. */
  begin(task: number): void {
    this.#count += 1
    this.#begun.set(task, this.#count)
  }

  /**
   * Judges a reply once those are heard that began after it: a key that was answered later was not refused, the
   * query was. Waits for no longer than the calls that are on their way.
   */
  async hear({ task, verdict }: Bought): Promise<Verdict> {
    const began = this.#begun.get(task.id)
    this.#begun.delete(task.id)
    if (began === undefined) return verdict
    if (verdict.kind === 'answered') this.#newestAnswered = Math.max(this.#newestAnswered, began)
    for (const wake of this.#wake.splice(0)) wake()
    if (verdict.kind !== 'key_refused') return verdict
    // A query that was refused before, while others were answered since, is not believed a second time.
    const first = this.#refused.get(task.id) ?? began
    this.#refused.set(task.id, first)
    while (this.#newestAnswered < first && this.#anyAfter(first)) {
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
    const refuted = this.#newestAnswered > first || (await this.#refutedBefore(task.id))
    return refuted ? { ...verdict, kind: 'blocked' } : verdict
  }

  #anyAfter(began: number): boolean {
    for (const other of this.#begun.values()) if (other > began) return true
    return false
  }
}
