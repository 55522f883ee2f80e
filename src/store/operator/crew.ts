import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'

/** A worker that lives. */
export interface LiveWorker {
  readonly worker: number
  readonly account: string
  readonly host: string
  readonly pid: number
  readonly lanes: number
  readonly floor: number
  readonly started_at: Date
  readonly in_flight: number
  readonly oldest_s: number | null
}

/** Workers whose lease has not run out, with the calls that each has on its way. */
export async function readCrew(db: Database): Promise<readonly LiveWorker[]> {
  const { rows } = await sql<LiveWorker>`
    select
      w.id as worker, a.name as account, w.host, w.pid, w.concurrency as lanes, w.floor, w.started_at,
      count(c.id) as in_flight,
      round(extract(epoch from clock_timestamp() - min(c.sent_at)))::float8 as oldest_s
    from workers w
    join accounts a on a.id = w.account_id
    left join calls c on c.worker = w.id and c.outcome is null
    where w.stopped_at is null
      and w.lease_until > clock_timestamp()
    group by w.id, a.name
    order by w.id`.execute(db)
  return rows
}
