import { clock, clockIn } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { type NotNull, sql } from '../../base/database/kysely.ts'
import { setBack } from '../../base/database/trouble.ts'
import { WrongDatabase } from '../../base/errors.ts'

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
    host: string
    pid: number
    floor: number
    lanes: number
    leaseMs: number
  },
): Promise<number> {
  const { account, host, pid, floor, lanes, leaseMs } = worker
  const { id } = await db
    .insertInto('workers')
    .values({
      account_id: account,
      ...{ host, pid, floor, concurrency: lanes },
      lease_until: clockIn(leaseMs),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Extends the lease. False when it ran out before: others may have declared the calls lost. */
export async function beatWorker(
  db: Database,
  { id, host, pid, leaseMs }: { id: number; host: string; pid: number; leaseMs: number },
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
    .set({ lease_until: clockIn(leaseMs) })
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
export async function findAbandoned(
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
export async function findMarked(
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
export async function countUnmarked(
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
