import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'
import { patiently } from './patience.ts'
import { tally } from './gone.ts'

const portion = 10_000

/** Throws away the sums of all days, which name labels and domains: they are added up anew from what is left. */
export async function clearDays(db: Database): Promise<void> {
  await patiently(() => sql`delete from finished_days`.execute(db))
  for (const table of ['finished_labels', 'finished_shares', 'finished_steps']) {
    await clear(db, table, sql`not exists (select from finished_days d where d.id = t.finish_id)`)
  }
  await clear(
    db,
    'seen_pages',
    sql`
      not exists (select from queries q where q.id = t.query_id)
      or not exists (select from pages p where p.id = t.page_id)`,
  )
}

async function clear(db: Database, table: string, where: ReturnType<typeof sql>): Promise<void> {
  for (;;) {
    const rows = await patiently(() =>
      tally(
        sql`
          delete from ${sql.table(table)}
          where ctid = any(array(select ctid from ${sql.table(table)} t where ${where} limit ${portion}))`.execute(
          db,
        ),
      ),
    )
    if (rows < portion) return
  }
}

/** Days whose sums are kept. */
export async function countDays(db: Database): Promise<number> {
  const { rows } = await sql<{ days: number }>`
    select count(*) as days from finished_days where made_at is not null`.execute(db)
  return rows[0]?.days ?? 0
}
