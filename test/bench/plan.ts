import { sql } from 'kysely'
import { queryId, queryKey } from '../../src/base/query.ts'
import type { Database } from '../../src/base/database/database.ts'

const together = 5_000

/**
 * Writes a run with this many queries in slices of 25 directly to the tables, because planning is measured separately.
 */
export async function planRun(db: Database, count: number): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    with made as (insert into lists (name, source) values (${`bench ${Date.now()}`}, 'bench') returning id)
    insert into runs (list_id, run_date, kind, state, rows, accepted)
    select id, current_date, 'manual', 'open', ${count}, ${count} from made
    returning id`.execute(db)
  const run = rows[0]?.id ?? 0
  for (let start = 0; start < count; start += together) {
    const ids: string[] = []
    const keys: string[] = []
    const texts: string[] = []
    for (let n = start; n < Math.min(count, start + together); n += 1) {
      const q = `query ${n + 1} of run ${run}`
      const key = queryKey({ q, location: null, hl: null, gl: null, num: 10, device: null })
      ids.push(queryId(key))
      keys.push(key)
      texts.push(q)
    }
    await sql`
      with given as (
        select id, key, q, ${start}::integer + row_number() over () - 1 as n
        from unnest(${ids}::uuid[], ${keys}::text[], ${texts}::text[]) as g (id, key, q)
      ),
      asked as (insert into queries (id, key, q, num) select id, key, q, 10 from given),
      sliced as (
        insert into slices (run_id, slice, priority)
        select distinct ${run}::bigint, (n / 25)::integer, 5::smallint from given
        on conflict do nothing
      )
      insert into tasks (run_id, query_id, slice, priority)
      select ${run}::bigint, id, (n / 25)::integer, 5 from given order by n`.execute(db)
  }
  return run
}
