import { pause } from '../../shared/waiting.ts'
import type { Database } from '../database.ts'
import { sql, type RawBuilder } from '../kysely.ts'
import { only } from '../statement.ts'
import { dictionaries, type WordTable } from './facts.ts'
import { tally, type Gone } from './gone.ts'

const portion = 2000
const lookAgainMs = 20

/**
 * Takes out of the dictionaries what was noted and nobody names any more. A worker may store an answer that names such a
 * row in the same moment: it saw the row, and adds none. So a row that was taken out is held until whoever wrote at that
 * moment has ended, and put back if it is named now.
 */
export async function forgetWords(db: Database): Promise<Gone> {
  const gone: Record<string, number> = {}
  // Pages before hosts: a page names its host.
  for (const kind of Object.keys(dictionaries) as WordTable[]) {
    await sql`
      delete from forgetting_words w
      where w.kind = ${kind} and w.held is null and ${isNamed(kind)}`.execute(db)
    await takeOut(db, kind)
    await writersEnded(db)
    await putBack(db, kind)
    gone[kind] = await tally(
      sql`delete from forgetting_words where kind = ${kind} and held is not null`.execute(db),
    )
  }
  return gone
}

/** True for a word `w` that a row of an answer, or a page, names. */
function isNamed(kind: WordTable): RawBuilder<boolean> {
  const places = dictionaries[kind].map(
    ([table, column]) => sql`
      w.id in (select ${sql.ref(column)} from ${sql.table(table)} where ${sql.ref(column)} is not null)`,
  )
  return sql<boolean>`(${sql.join(places, sql` or `)})`
}

async function takeOut(db: Database, kind: WordTable): Promise<void> {
  for (;;) {
    const taken = await sql`
      with chosen as materialized (
        select id from forgetting_words where kind = ${kind} and held is null order by id limit ${portion}
      ),
      taken as (
        delete from ${sql.table(kind)} d using chosen where d.id = chosen.id returning d.id, to_jsonb(d) as held
      )
      update forgetting_words w
      set held = coalesce(taken.held, 'null')
      from chosen
      left join taken using (id)
      where w.kind = ${kind} and w.id = chosen.id`.execute(db)
    if (Number(taken.numAffectedRows ?? 0) < portion) return
  }
}

/** Waits until every transaction has ended that writes and began before now. */
async function writersEnded(db: Database): Promise<void> {
  const { rows } = await sql<{ now: string }>`select pg_current_xact_id()::text as now`.execute(db)
  const { now } = only(rows)
  for (;;) {
    const { rows: looks } = await sql<{ ended: boolean }>`
      select pg_snapshot_xmin(pg_current_snapshot()) > ${now}::xid8 as ended`.execute(db)
    if (only(looks).ended) return
    await pause(lookAgainMs)
  }
}

async function putBack(db: Database, kind: WordTable): Promise<void> {
  const { rows } = await sql<{ columns: readonly string[] }>`
    select array_agg(attname::text order by attnum) as columns
    from pg_attribute
    where attrelid = ${kind}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`.execute(
    db,
  )
  const columns = sql.join(only(rows).columns.map((name) => sql.ref(name)))
  await sql`
    with named as (
      delete from forgetting_words w
      where w.kind = ${kind} and w.held is not null and ${isNamed(kind)}
      returning w.held
    )
    insert into ${sql.table(kind)} (${columns})
    select ${columns}
    from named
    cross join lateral jsonb_populate_record(null::${sql.table(kind)}, nullif(named.held, 'null'))
    where named.held <> 'null'
    order by id
    on conflict do nothing`.execute(db)
}
