import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
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
  const { rows } = await sql<{ id: number }>`
    insert into workers (account_id, host, pid, floor, concurrency, lease_until)
    values (
      ${worker.account}, ${worker.host}, ${worker.pid}, ${worker.floor}, ${worker.lanes},
      clock_timestamp() + ${worker.leaseMs} * interval '1 millisecond'
    )
    returning id`.execute(db)
  const row = rows[0]
  if (row === undefined) throw new Error('expected the number of a new worker, got none')
  return row.id
}

/** Extends the lease. False when it ran out before: others may have declared the calls lost. */
export async function beatWorker(
  db: Database,
  { id, host, pid, leaseMs }: { id: number; host: string; pid: number; leaseMs: number },
): Promise<boolean> {
  const { rows } = await sql<{ alive: boolean }>`
    with old as (
      select id, lease_until > clock_timestamp() as alive
      from workers
      where id = ${id} and host = ${host} and pid = ${pid}
      for update
    )
    update workers
    set lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
    from old
    where workers.id = old.id
    returning old.alive`.execute(db)
  const row = rows[0]
  if (row === undefined) throw setBack(`it does not know worker ${id}`)
  return row.alive
}

/** Marks a worker as ended in good order. */
export async function closeWorker(db: Database, id: number): Promise<void> {
  await sql`update workers set stopped_at = clock_timestamp() where id = ${id}`.execute(db)
}

/** Calls in flight whose worker's lease has run out, oldest first, and the account each belongs to. */
export async function findAbandoned(
  db: Database,
  limit: number,
): Promise<readonly { id: number; mark: string | null; account: number }[]> {
  const { rows } = await sql<{ id: number; mark: string | null; account: number }>`
    select c.id, c.mark, c.account_id as account
    from calls c
    join workers w on w.id = c.worker
    where c.outcome is null
      and (w.lease_until < clock_timestamp() or w.stopped_at is not null)
    order by c.id
    limit ${limit}`.execute(db)
  return rows
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
  const { rows } = await sql<{ id: number; mark: string }>`
    select id, mark
    from calls
    where worker = ${worker}
      and outcome is null
      and mark = any(${marks}::uuid[])`.execute(db)
  return rows
}

/** Calls of a worker in flight that bear none of these marks. */
export async function countUnmarked(
  db: Database,
  worker: number,
  marks: readonly string[],
): Promise<number> {
  const { rows } = await sql<{ calls: number }>`
    select count(*) as calls
    from calls
    where worker = ${worker}
      and outcome is null
      and coalesce(mark <> all(${marks}::uuid[]), true)`.execute(db)
  return rows[0]?.calls ?? 0
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
