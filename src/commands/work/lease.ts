import { hostname } from 'node:os'
import type { Clerk } from '../../credits/entry.ts'
import { record } from '../../credits/record.ts'
import type { Database } from '../../store/database.ts'
import {
  beatWorker,
  closeWorker,
  findAbandoned,
  findForgotten,
  openWorker,
} from '../../store/ledger/workers.ts'
import { lostCall, unsentCall } from './entry.ts'

export interface LeaseOptions {
  readonly db: Database
  readonly account: number
  readonly floor: number
  readonly lanes: number
  readonly leaseMs: number
}

const together = 100

/** Until when other workers leave the calls of this one alone: on the database's clock, and on this process's own. */
export class Lease {
  readonly worker: number
  readonly #options: LeaseOptions
  #goodUntil: number

  private constructor(worker: number, options: LeaseOptions, asked: number) {
    this.worker = worker
    this.#options = options
    this.#goodUntil = asked + options.leaseMs
  }

  static async open(options: LeaseOptions): Promise<Lease> {
    const asked = performance.now()
    const worker = await openWorker(options.db, { ...options, host: hostname(), pid: process.pid })
    return new Lease(worker, options, asked)
  }

  /** True when a call begun now, and its storing, end within the lease. */
  covers(callMs: number): boolean {
    return performance.now() + callMs < this.#goodUntil
  }

  async beat(): Promise<void> {
    const asked = performance.now()
    const { db, leaseMs } = this.#options
    await beatWorker(db, { id: this.worker, host: hostname(), pid: process.pid, leaseMs })
    this.#goodUntil = asked + leaseMs
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
   * Releases calls in flight of this worker that it neither asks for nor has on their way: it gave up asking, so nobody
   * will ever send them. A call that is still asked for is left alone, however long the reply is on its way.
   */
  async release(clerk: Clerk, marks: ReadonlySet<string>): Promise<void> {
    const open = await findForgotten(this.#options.db, this.worker)
    const forgotten = open.filter(({ mark }) => mark === null || !marks.has(mark))
    if (forgotten.length > 0) await record(this.#options.db, clerk, forgotten.map(unsentCall))
  }
}
