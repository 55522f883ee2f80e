import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'
import { patiently } from './patience.ts'
import { tally } from './gone.ts'
import { nobody } from './queries.ts'

const portion = 10_000

// Beside words that are still to go: whoever is killed has nothing else left that tells of the sums.
const mark = { kind: 'finished_days', id: nobody } as const

/** Notes that sums are to be thrown away, for whoever goes on with a forgetting that broke off. */
export async function noteDays(db: Database): Promise<void> {
  await sql`
    insert into forgetting_words (kind, id)
    values (${mark.kind}, ${mark.id})
    on conflict do nothing`.execute(db)
}

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
  await sql`
    delete from forgetting_words where kind = ${mark.kind} and id = ${mark.id}`.execute(db)
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
