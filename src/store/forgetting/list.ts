import type { Database } from '../database.ts'
import { sql, type Transaction } from '../kysely.ts'
import { patiently } from './patience.ts'
import type { DB } from '../schema.ts'
import { noteDays } from './days.ts'
import { addGone, tally, type Gone } from './gone.ts'
import { nobody, type TellGone } from './queries.ts'

const portion = 2000

/** A list that is to be forgotten. */
export interface List {
  readonly id: number
  readonly name: string
}

/** The list of a name, unless it was forgotten. */
export async function findLivingList(db: Database, name: string): Promise<List | null> {
  const { rows } = await sql<List>`
    select id, name from lists where name = ${name} and forgotten_at is null`.execute(db)
  return rows[0] ?? null
}

/** Queries that a list holds, or ever asked, and no other does. */
export const aloneIn = (list: number) => sql<{ query_id: string }>`
  select query_id from list_queries where list_id = ${list}
  union
  select t.query_id from tasks t join runs r on r.id = t.run_id where r.list_id = ${list}
  except
  select query_id from list_queries where list_id <> ${list}
  except
  select t.query_id
  from tasks t
  join runs r on r.id = t.run_id
  join lists l on l.id = r.list_id
  -- What a list that was forgotten left there for others goes with the last of them.
  where l.id <> ${list} and l.forgotten_at is null`

/** Notes the queries that are this list's alone. */
export async function noteAlone(db: Database, list: number): Promise<void> {
  await sql`
    insert into forgetting_queries (query_id, list_id)
    select query_id, ${list}::bigint from (${aloneIn(list)}) as alone
    on conflict do nothing`.execute(db)
}

/** Takes from the list what it says of queries that others hold as well. */
export async function forgetMembers(db: Database, list: number, tell: TellGone): Promise<Gone> {
  let gone: Gone = {}
  for (const table of ['list_query_history', 'cadences', 'cadence_draws', 'list_queries']) {
    for (;;) {
      const rows = await patiently(() => takeMembers(db, table, list))
      gone = addGone(gone, { [table]: rows })
      tell(gone)
      if (rows < portion) break
    }
  }
  return gone
}

function takeMembers(db: Database, table: string, list: number): Promise<number> {
  return tally(
    sql`
      delete from ${sql.table(table)}
      where ctid = any(array(select ctid from ${sql.table(table)} where list_id = ${list} limit ${portion}))`.execute(
      db,
    ),
  )
}

/**
 * The list itself, last of all: its runs and what they spent stay under a made-up name. False: it was read again
 * meanwhile. Whoever plans a list holds the same lock.
 */
export async function endList(db: Database, { id, name }: List): Promise<boolean> {
  return patiently(() =>
    db.transaction().execute(async (trx) => {
      const lock = `querymill list ${name}`
      await sql`select pg_advisory_xact_lock(hashtextextended(${lock}::text, 0))`.execute(trx)
      const { rows } = await sql`
        select from list_queries where list_id = ${id}
        union all
        select from runs where list_id = ${id} and state in ('planning', 'open')
        limit 1`.execute(trx)
      if (rows.length > 0) return false
      await endExpansions(trx, id)
      await noteDays(trx)
      await sql`delete from cadence_nights where list_id = ${id}`.execute(trx)
      await sql`
        update lists
        set name = 'forgotten-' || id, source = '', reading = null, budget = null,
          forgotten_at = clock_timestamp()
        where id = ${id}`.execute(trx)
      return true
    }),
  )
}

/** What was taken from its answers into other lists stays there; for which of its queries is no longer said. */
async function endExpansions(trx: Transaction<DB>, list: number): Promise<void> {
  await sql`delete from expansions where list_id = ${list}`.execute(trx)
  await sql`
    update expansions set from_query = ${nobody} where source_list_id = ${list} and round = 1`.execute(
    trx,
  )
}
