// A generated history for benchmarks: makeHistory(pool, { queries: 1000, nights: 30 }) fills the tables of an empty
// database. Sums of days are not stored; `finishDays` does this, as `npm run nightly` does every night.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { root } from '../../src/base/root.ts'

/** Written directly to the tables, because buying a million results would take too long. */
export async function makeHistory(
  pool: Pool,
  { queries, nights }: { readonly queries: number; readonly nights: number },
): Promise<void> {
  const text = readFileSync(join(root, 'test', 'bench', 'history.sql'), 'utf8')
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query(
      `select set_config('bench.queries', $1, true), set_config('bench.nights', $2, true),
        set_config('jit', 'off', true), set_config('work_mem', '256MB', true)`,
      [String(queries), String(nights)],
    )
    await client.query(text)
    await client.query('commit')
    await client.query('vacuum analyze')
  } finally {
    client.release()
  }
}
