import { sql } from './kysely.ts'
import type { Database } from './database.ts'

/**
 * BullMQ on PostgreSQL goes by the clocks of its workers. One that ran ahead for a moment leaves locks, and the time of
 * the next look for stalled jobs, so far in the future that nobody takes what a dead worker held: what lies beyond
 * anything that a right clock can have written counts from now.
 */
export async function undoLeaps(db: Database, { longestMs }: { longestMs: number }): Promise<void> {
  await sql`
    with clock as (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms),
    looks as (
      update bullmq.meta
      set value = clock.now_ms::text
      from clock
      where field = 'stalled-check' and value::numeric > clock.now_ms + ${longestMs}
    )
    update bullmq.job
    set locked_until_ms = clock.now_ms
    from clock
    where state = 'active' and locked_until_ms > clock.now_ms + ${longestMs}`.execute(db)
}
