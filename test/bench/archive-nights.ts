import { finishDays } from '../../src/core/nights/finish.ts'
import { openDatabase, type Pool } from '../../src/base/database/database.ts'
import { makeHistory } from './history.ts'

/** Number of nights. */
export const nights = 30

/** The history with bodies of about four kilobytes and its stored sums, as after regular nights. */
export async function fillArchived(pool: Pool, queries: number): Promise<number> {
  await pool.query('alter system set autovacuum = off')
  await pool.query('select pg_reload_conf()')
  await makeHistory(pool, { queries, nights })
  await pool.query(`
    insert into raw_answers (call_id, status, received_at, truncated, body)
    select id, 200, finished_at, false, convert_to(told, 'UTF8')
    from calls
    cross join lateral (
      select string_agg('{"position": ' || n || ', "title": "' || md5(id || '.' || n) || '"}', ',') as told
      from generate_series(1, 70) as n
    ) as body`)
  await finishDays(openDatabase(pool))
  await pool.query('vacuum analyze')
  await pool.query('checkpoint')
  const { rows } = await pool.query<{ n: number }>('select count(*) as n from organic_results')
  return rows[0]?.n ?? 0
}
