// Workers and their leases: taken, renewed, and the calls of a crashed worker freed.

import { hostname } from 'node:os'
import { clock, clockIn } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { type NotNull, sql } from '../../base/database/kysely.ts'
import { setBack } from '../../base/database/trouble.ts'
import { WrongDatabase } from '../../base/errors.ts'
import { lostCall, unsentCall } from './entry.ts'
import { type Clerk, record } from './settle.ts'

/** The two clocks of a machine: one stands still while the machine sleeps, the other may be set. */
export interface Clocks {
  readonly steady: number
  readonly wall: number
}

/** Enters a worker with its first lease; gives back its number. */
export async function openWorker(
  db: Database,
  worker: {
    account: number
    key?: string
    host: string
    pid: number
    floor: number
    lanes: number
    leaseMs: number
  },
): Promise<number> {
  const { account, key = null, host, pid, floor, lanes, leaseMs } = worker
  const { id } = await db
    .insertInto('workers')
    .values({
      account_id: account,
      ...{ key, host, pid, floor, concurrency: lanes },
      lease_until: clockIn(leaseMs),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Extends the lease. False when it ran out before: others may have declared the calls lost. */
async function beatWorker(
  db: Database,
  {
    id,
    key,
    host,
    pid,
    leaseMs,
  }: { id: number; key: string | null; host: string; pid: number; leaseMs: number },
): Promise<boolean> {
  const beaten = await db
    .with('old', (known) =>
      known
        .selectFrom('workers')
        .select(({ eb }) => ['id', eb('lease_until', '>', clock).$castTo<boolean>().as('alive')])
        .where('id', '=', id)
        .where('host', '=', host)
        .where('pid', '=', pid)
        .forUpdate(),
    )
    .updateTable('workers')
    .from('old')
    .set({ key, lease_until: clockIn(leaseMs) })
    .whereRef('workers.id', '=', 'old.id')
    .returning('old.alive')
    .executeTakeFirst()
  if (beaten === undefined) throw setBack(`it does not know worker ${id}`)
  return beaten.alive
}

/** Marks a worker as ended in good order. */
export async function closeWorker(db: Database, id: number): Promise<void> {
  await db.updateTable('workers').set({ stopped_at: clock }).where('id', '=', id).execute()
}

/** Calls in flight whose worker's lease has run out, oldest first, and the account each belongs to. */
async function findAbandoned(
  db: Database,
  limit: number,
): Promise<readonly { id: number; mark: string | null; account: number }[]> {
  return db
    .selectFrom('calls')
    .innerJoin('workers', 'workers.id', 'calls.worker')
    .select(['calls.id', 'calls.mark', 'calls.account_id as account'])
    .where('calls.outcome', 'is', null)
    .where((eb) =>
      eb.or([eb('workers.lease_until', '<', clock), eb('workers.stopped_at', 'is not', null)]),
    )
    .orderBy('calls.id')
    .limit(limit)
    .execute()
}

/** Difference between the clock of this process and that of the database, in milliseconds. */
async function clockSkew(db: Database): Promise<number> {
  const before = Date.now()
  const { rows } = await sql<{ now: number }>`
    select extract(epoch from clock_timestamp())::float8 * 1000 as now`.execute(db)
  const after = Date.now()
  const now = rows[0]?.now ?? after
  if (now < before) return now - before
  return now > after ? now - after : 0
}

/** Calls of a worker in flight that bear one of these marks. */
async function findMarked(
  db: Database,
  worker: number,
  marks: readonly string[],
): Promise<readonly { id: number; mark: string }[]> {
  return db
    .selectFrom('calls')
    .select(['id', 'mark'])
    .where('worker', '=', worker)
    .where('outcome', 'is', null)
    .where(({ eb, fn }) => eb('mark', '=', fn.any(sql<string[]>`${marks}::uuid[]`)))
    .$narrowType<{ mark: NotNull }>()
    .execute()
}

/** Calls of a worker in flight that bear none of these marks. */
async function countUnmarked(
  db: Database,
  worker: number,
  marks: readonly string[],
): Promise<number> {
  const { calls } = await db
    .selectFrom('calls')
    .select(({ fn }) => fn.countAll<number>().as('calls'))
    .where('worker', '=', worker)
    .where('outcome', 'is', null)
    .where((eb) =>
      eb.or([eb('mark', 'is', null), eb('mark', '<>', sql<string>`all(${marks}::uuid[])`)]),
    )
    .executeTakeFirstOrThrow()
  return calls
}

const largestSkewMs = 5_000

/** Refuses a host whose clock is off: it would take jobs of others for stalled, and its own for due. */
export async function refuseSkew(db: Database): Promise<void> {
  const skew = await clockSkew(db)
  if (Math.abs(skew) <= largestSkewMs) return
  throw new WrongDatabase(
    `expected the clock of this machine within ${largestSkewMs / 1000} s of the database's, got ${Math.round(skew / 1000)} s; set the clock`,
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

/** Until when other workers leave the calls of this one alone: on the database's clock, and on those of this machine. */
export class Lease {
  readonly worker: number
  /** Fingerprint of the key in use: another one is written down with the next beat. */
  key: string | null
  readonly #options: LeaseOptions
  #term: Clocks

  private constructor(worker: number, options: LeaseOptions, asked: Clocks) {
    this.worker = worker
    this.key = options.key ?? null
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
    const { worker: id, key } = this
    await beatWorker(db, { id, key, host: hostname(), pid: process.pid, leaseMs })
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
