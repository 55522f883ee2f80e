// Acquires and renews worker leases, and gives up the calls of crashed workers.

import { hostname } from 'node:os'
import { clock, clockIn, secondsOf } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { type NotNull } from '../../base/database/kysely.ts'
import { setBack } from '../../base/database/trouble.ts'
import { WrongDatabase } from '../../base/errors.ts'
import { lostCall, unsentCall } from './entry.ts'
import { type SettlementRules, settleCalls } from './settle.ts'

/** A machine's two clocks. The monotonic clock (`steady`) stops during sleep, and the wall clock may be adjusted. */
export interface Clocks {
  readonly steady: number
  readonly wall: number
}

const largestSkewMs = 5_000

/** Throws if this host's clock is wrong, because its worker would treat other workers' jobs as stalled. */
export async function refuseSkew(db: Database): Promise<void> {
  const before = Date.now()
  const { seconds } = await db
    .selectNoFrom(secondsOf(clock).as('seconds'))
    .executeTakeFirstOrThrow()
  const after = Date.now()
  const now = seconds * 1000
  const skew = Math.min(now - before, 0) + Math.max(now - after, 0)
  if (Math.abs(skew) <= largestSkewMs) return
  throw new WrongDatabase(
    `expected this machine's clock to be within ${largestSkewMs / 1000} s of the database's clock, got a difference of ${Math.round(skew / 1000)} s; correct this machine's clock`,
  )
}

interface LeaseOptions {
  readonly db: Database
  readonly account: number
  /** Fingerprint of the key in use. */
  readonly key?: string
  readonly floor: number
  readonly lanes: number
  readonly leaseMs: number
}

const together = 100

/** A lease protects a worker's calls until it expires on the database's clock or on a clock of this machine. */
export class Lease {
  readonly worker: number
  /** Fingerprint of the key in use. The next heartbeat stores any change. */
  key: string | null
  readonly #options: LeaseOptions
  /** Latest known end of the lease. Until then, other workers do not give up this worker's calls. */
  term: Clocks

  private constructor(worker: number, options: LeaseOptions, asked: Clocks) {
    this.worker = worker
    this.key = options.key ?? null
    this.#options = options
    this.term = termOf(asked, options.leaseMs)
  }

  /** Inserts a worker with its first lease. */
  static async open(options: LeaseOptions): Promise<Lease> {
    const asked = readClocks()
    const { db, account, key = null, floor, lanes, leaseMs } = options
    const { id } = await db
      .insertInto('workers')
      .values({
        account_id: account,
        ...{ key, host: hostname(), pid: process.pid, floor, concurrency: lanes },
        lease_until: clockIn(leaseMs),
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    return new Lease(id, options, asked)
  }

  covers(callMs: number, term: Clocks): boolean {
    return coversCall(term, readClocks(), callMs)
  }

  async beat(): Promise<void> {
    const asked = readClocks()
    const { leaseMs } = this.#options
    const { numUpdatedRows } = await this.#updateRow()
      .set({ key: this.key, lease_until: clockIn(leaseMs) })
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw setBack(`worker ${this.worker} is missing`)
    this.term = termOf(asked, leaseMs)
  }

  async close(): Promise<void> {
    await this.#updateRow().set({ stopped_at: clock }).execute()
  }

  /** Gives up calls of workers with expired leases. The calls may have been charged, but their answers are missing. */
  async reap(rules: Omit<SettlementRules, 'account'>): Promise<number> {
    let reaped = 0
    let after = 0
    // Gives up all abandoned calls in one pass, because a dead worker may have left hundreds of calls.
    for (let found = together; found === together; reaped += found) {
      const abandoned = await this.#options.db
        .selectFrom('calls')
        .innerJoin('workers', 'workers.id', 'calls.worker')
        .select(['calls.id', 'calls.mark', 'calls.account_id as account'])
        .where('calls.outcome', 'is', null)
        .where('calls.id', '>', after)
        .where((eb) =>
          eb.or([eb('workers.lease_until', '<', clock), eb('workers.stopped_at', 'is not', null)]),
        )
        .orderBy('calls.id')
        .limit(together)
        .execute()
      for (const account of new Set(abandoned.map((call) => call.account))) {
        const lost = abandoned.filter((call) => call.account === account)
        await settleCalls(this.#options.db, { ...rules, account }, lost.map(lostCall))
      }
      found = abandoned.length
      after = abandoned.at(-1)?.id ?? after
    }
    return reaped
  }

  /** Releases unsent calls that this worker gave up. Calls in a copied database are kept, as they may be charged. */
  async release({ givenUp, ...rules }: SettlementRules & { givenUp: Set<string> }): Promise<void> {
    if (givenUp.size === 0) return
    const forgotten = await this.#inFlight()
      .select(['id', 'mark'])
      .where((eb) => eb('mark', '=', eb.fn.any(eb.val([...givenUp]))))
      .$narrowType<{ mark: NotNull }>()
      .execute()
    if (forgotten.length > 0) await settleCalls(this.#options.db, rules, forgotten.map(unsentCall))
    for (const { mark } of forgotten) givenUp.delete(mark)
  }

  /** Counts calls in flight that were not given up. If an idle worker has such calls, the database was restored. */
  async countOpen(givenUp: ReadonlySet<string>): Promise<number> {
    const { calls } = await this.#inFlight()
      .select(({ fn }) => fn.countAll<number>().as('calls'))
      .where((eb) =>
        eb.or([eb('mark', 'is', null), eb.not(eb('mark', '=', eb.fn.any(eb.val([...givenUp]))))]),
      )
      .executeTakeFirstOrThrow()
    return calls
  }

  /** Updates this worker's row. A restored database reuses ids, so the host and the process id must match too. */
  #updateRow() {
    return this.#options.db
      .updateTable('workers')
      .where('id', '=', this.worker)
      .where('host', '=', hostname())
      .where('pid', '=', process.pid)
  }

  #inFlight() {
    return this.#options.db
      .selectFrom('calls')
      .where('worker', '=', this.worker)
      .where('outcome', 'is', null)
  }
}

function readClocks(): Clocks {
  return { steady: performance.now(), wall: Date.now() }
}

/** Returns the earliest time at which a lease requested at `asked` can end. The database may start the lease later. */
export function termOf(asked: Clocks, leaseMs: number): Clocks {
  return { steady: asked.steady + leaseMs, wall: asked.wall + leaseMs }
}

/** True if both clocks show that a call started now ends within the lease. Either clock may have stopped or jumped. */
export function coversCall(term: Clocks, now: Clocks, callMs: number): boolean {
  return now.steady + callMs < term.steady && now.wall + callMs < term.wall
}

export const beats = 6
/** After an outage of more than this many heartbeats, other workers' calls are kept for as many heartbeats. */
const sparedBeats = 2

/** Returns the time until which no worker is reaped: an outage that delayed our heartbeat may delay others too. */
export function sparedUntil(
  before: number,
  { now, beatAt, leaseMs }: { now: number; beatAt: number; leaseMs: number },
): number {
  const spared = (sparedBeats * leaseMs) / beats
  return now - beatAt > spared ? now + spared : before
}
