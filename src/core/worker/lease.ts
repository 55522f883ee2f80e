import { hostname } from 'node:os'
import type { Database } from '../../base/database/database.ts'
import {
  beatWorker,
  type Clocks,
  closeWorker,
  countUnmarked,
  findAbandoned,
  findMarked,
  openWorker,
} from '../ledger/leases.ts'
import { type Clerk, record } from '../ledger/settle.ts'
import { lostCall, unsentCall } from '../ledger/entry.ts'

interface LeaseOptions {
  readonly db: Database
  readonly account: number
  readonly floor: number
  readonly lanes: number
  readonly leaseMs: number
}

const together = 100

/** Until when other workers leave the calls of this one alone: on the database's clock, and on those of this machine. */
export class Lease {
  readonly worker: number
  readonly #options: LeaseOptions
  #term: Clocks

  private constructor(worker: number, options: LeaseOptions, asked: Clocks) {
    this.worker = worker
    this.#options = options
    this.#term = termOf(asked, options.leaseMs)
  }

  static async open(options: LeaseOptions): Promise<Lease> {
    const asked = readClocks()
    const worker = await openWorker(options.db, { ...options, host: hostname(), pid: process.pid })
    return new Lease(worker, options, asked)
  }

  /** The lease as far as it is known now: until it ends nobody gives up a call that is in the tables by then. */
  get term(): Clocks {
    return this.#term
  }

  /** True when a call begun now ends within the lease, as it was known at some moment. */
  covers(callMs: number, term: Clocks): boolean {
    return coversCall(term, readClocks(), callMs)
  }

  async beat(): Promise<void> {
    const asked = readClocks()
    const { db, leaseMs } = this.#options
    await beatWorker(db, { id: this.worker, host: hostname(), pid: process.pid, leaseMs })
    this.#term = termOf(asked, leaseMs)
  }

  close(): Promise<void> {
    return closeWorker(this.#options.db, this.worker)
  }

  /** Gives up calls whose worker's lease ran out: perhaps charged, and nobody waits for their answers. */
  async reap(clerk: Omit<Clerk, 'account'>): Promise<number> {
    const abandoned = await findAbandoned(this.#options.db, together)
    for (const account of new Set(abandoned.map((call) => call.account))) {
      const lost = abandoned.filter((call) => call.account === account)
      await record(this.#options.db, { ...clerk, account }, lost.map(lostCall))
    }
    return abandoned.length
  }

  /**
   * Releases calls in flight that this worker gave up asking for: nobody will ever send them. Any other call is left
   * alone, also one that this process does not know: it may have been charged, and be there by a copy of the database.
   */
  async release(clerk: Clerk, givenUp: Set<string>): Promise<void> {
    if (givenUp.size === 0) return
    const forgotten = await findMarked(this.#options.db, this.worker, [...givenUp])
    if (forgotten.length > 0) await record(this.#options.db, clerk, forgotten.map(unsentCall))
    for (const { mark } of forgotten) givenUp.delete(mark)
  }

  /**
   * Calls that the tables have in flight for this worker, apart from those that it gave up asking for. When it has
   * nothing on its way, they were settled and are open again: the database was set back.
   */
  countOpen(givenUp: ReadonlySet<string>): Promise<number> {
    return countUnmarked(this.#options.db, this.worker, [...givenUp])
  }
}

function readClocks(): Clocks {
  return { steady: performance.now(), wall: Date.now() }
}

/** When a lease ends that was asked for at this moment: the database counts from later on. */
export function termOf(asked: Clocks, leaseMs: number): Clocks {
  return { steady: asked.steady + leaseMs, wall: asked.wall + leaseMs }
}

/** True when a call begun now ends within the term by both clocks: whichever of them ran shows that it is over. */
export function coversCall(term: Clocks, now: Clocks, callMs: number): boolean {
  return now.steady + callMs < term.steady && now.wall + callMs < term.wall
}

/** A worker beats this often within a lease. */
export const beats = 6
/** After an outage of more than so many beats, the others get as many before their calls are given up. */
const sparedBeats = 2

/** Until when nobody is given up after a beat: what kept this worker from beating may have kept the others from it. */
export function sparedUntil(
  before: number,
  { now, beatAt, leaseMs }: { now: number; beatAt: number; leaseMs: number },
): number {
  const spared = (sparedBeats * leaseMs) / beats
  return now - beatAt > spared ? now + spared : before
}
