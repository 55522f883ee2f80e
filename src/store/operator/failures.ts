import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'

/** Tasks of these runs that failed, are unknown, or whose answer cannot be read. */
export async function countFailures(db: Database, runs: readonly number[]): Promise<number> {
  const { rows } = await sql<{ failures: number }>`
    select count(*) as failures
    from tasks t
    left join searches s on s.id = t.search_id
    where t.run_id = any(${[...runs]}::bigint[])
      and (t.state in ('failed', 'unknown') or s.parse_error is not null)`.execute(db)
  return rows[0]?.failures ?? 0
}
