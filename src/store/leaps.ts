import { sql } from './kysely.ts'
import type { Database } from './database.ts'

/** Between a worker's look at its clock and the moment at which the database has what it wrote. */
const slackMs = 250

/**
 * BullMQ on PostgreSQL goes by the clocks of its workers. One that ran ahead for a moment leaves locks, and the time of
 * the last look for stalled jobs, in the future, and nobody takes what a dead worker held: what lies beyond anything that a
 * right clock can have written comes down. A worker that lives gets time to renew its lock, for its clock may be only a
 * little ahead.
 */
export async function undoLeaps(
  db: Database,
  { lockMs, graceMs }: { lockMs: number; graceMs: number },
): Promise<void> {
  await sql`
    with clock as (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms),
    looks as (
      update bullmq.meta
      set value = clock.now_ms::text
      from clock
      where field = 'stalled-check' and value::numeric > clock.now_ms + ${slackMs}
    )
    update bullmq.job
    set locked_until_ms = clock.now_ms + ${graceMs}
    from clock
    where state = 'active' and locked_until_ms > clock.now_ms + ${lockMs + slackMs}`.execute(db)
}
