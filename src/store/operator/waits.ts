import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** Something that open tasks wait for before they can be bought. */
export type Wait =
  | {
      readonly kind: 'lease'
      readonly calls: number
      readonly worker: number
      readonly host: string
      readonly pid: number
      readonly until: string
    }
  | {
      readonly kind: 'pause'
      readonly tasks: number
      readonly error: string | null
      readonly until: string
    }

const mostSlices = 1_000

/** Calls that other workers have in flight, and tasks that are not to be tried before a time; nothing of other runs. */
export async function readWaits(db: Database, own: number): Promise<readonly Wait[]> {
  const leases = await sql<Wait>`
    select
      'lease' as kind, count(*) as calls, w.id as worker, w.host, w.pid,
      to_char(w.lease_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until
    from calls c
    join workers w on w.id = c.worker
    where c.outcome is null and w.id <> ${own}
    group by w.id
    order by w.id`.execute(db)
  const pauses = await sql<Wait>`
    select
      'pause' as kind, count(*) as tasks, min(t.error_code) as error,
      to_char(min(t.not_before) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until
    from (
      select s.run_id, s.slice
      from slices s
      join runs r on r.id = s.run_id and r.state = 'open'
      where s.done_at is null
      limit ${mostSlices}
    ) open
    join tasks t on t.run_id = open.run_id and t.slice = open.slice
    where t.state = 'open' and t.not_before > clock_timestamp()
    having count(*) > 0`.execute(db)
  return [...leases.rows, ...pauses.rows]
}
