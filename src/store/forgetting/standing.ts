import type { Database } from '../database.ts'
import { sql, type RawBuilder } from '../kysely.ts'
import type { Query } from '../../shared/query.ts'
import { only } from '../statement.ts'
import { aloneIn, type List } from './list.ts'

/** What stands in the way of forgetting: each of it ends by itself, or by a command. */
export interface InTheWay {
  /** Runs that are not over. */
  readonly runs: readonly number[]
  /** Calls whose answer is out, or may still come. */
  readonly calls: number
  /** Schedules that would read the list again. */
  readonly schedules: readonly string[]
}

/** As long as an answer may come late: a call, its storing and the server's grace are far shorter. */
const lateAnswers = sql`interval '10 minutes'`

async function waysOf(
  db: Database,
  { runs, calls, list }: { runs: RawBuilder<boolean>; calls: RawBuilder<boolean>; list: string },
): Promise<InTheWay> {
  const { rows } = await sql<InTheWay>`
    select
      array(
        select r.id::float8
        from runs r
        where (
            r.state in ('planning', 'open')
            or r.state = 'cancelled'
              and r.finished_at > clock_timestamp() - interval '1 day'
              and exists (select from tasks t where t.run_id = r.id and t.state = 'open')
          )
          and ${runs}
        order by r.id
      ) as runs,
      (
        select count(*)
        from calls c
        left join tasks t on t.id = c.task_id
        where (
            c.outcome is null
            or c.outcome = 'unknown' and c.washed_at is null and c.unknown_at > clock_timestamp() - ${lateAnswers}
          )
          and ${calls}
      ) as calls,
      array(select name from schedules where list = ${list} and enabled order by name) as schedules`.execute(
    db,
  )
  return only(rows)
}

/** What stands in the way of forgetting a list. */
export function inTheWayOfList(db: Database, { id, name }: List): Promise<InTheWay> {
  return waysOf(db, {
    runs: sql`r.list_id = ${id}`,
    calls: sql`t.run_id in (select runs.id from runs where runs.list_id = ${id})`,
    list: name,
  })
}

/** What stands in the way of forgetting queries: runs that ask them. */
export function inTheWayOfQueries(db: Database, ids: readonly string[]): Promise<InTheWay> {
  const queries = sql`any(${ids}::uuid[])`
  return waysOf(db, {
    runs: sql`exists (select from tasks t where t.run_id = r.id and t.query_id = ${queries})`,
    calls: sql`c.query_id = ${queries}`,
    list: '',
  })
}

/** A query with its parameters, as it is kept. */
export type HeldQuery = Query & { readonly id: string }

/** Queries with a text; of parameters that are named only those that say the same. */
export async function findHeldQueries(
  db: Database,
  q: string,
  narrow: Partial<Omit<Query, 'q'>>,
): Promise<readonly HeldQuery[]> {
  const named = Object.entries(narrow).map(
    ([column, value]) => sql`and ${sql.ref(column)}::text = ${String(value)}`,
  )
  const { rows } = await sql<HeldQuery>`
    select id, q, location, hl, gl, num, device
    from queries
    where q = ${q} ${sql.join(named, sql` `)}
    order by key`.execute(db)
  return rows
}

/** What stays, although it has to do with what goes. */
export interface Stays {
  /** Queries of the list that others hold as well. */
  readonly shared: number
  /** Lists and queries whose names hold the words. */
  readonly namesakes: readonly string[]
}

/** What stays of a list that goes. */
export async function staysOfList(db: Database, { id }: List, pattern: string): Promise<Stays> {
  const { rows } = await sql<Stays>`
    select
      (
        select count(*)
        from list_queries m
        where m.list_id = ${id} and m.query_id not in (${aloneIn(id)})
      ) as shared,
      array(select l.name from lists l where l.id <> ${id} and l.name ~* ${pattern} order by 1) as namesakes`.execute(
    db,
  )
  return only(rows)
}

/** Queries of lists that name it. */
export async function staysOfDomain(db: Database, pattern: string): Promise<Stays> {
  const { rows } = await sql<{ q: string }>`
    select distinct q from queries where q ~* ${pattern} order by q limit 100`.execute(db)
  return { shared: 0, namesakes: rows.map(({ q }) => q) }
}

/** What an earlier forgetting left that broke off. */
export async function countLeft(
  db: Database,
): Promise<{ readonly queries: number; readonly words: number }> {
  const { rows } = await sql<{ queries: number; words: number }>`
    select
      (select count(*) from forgetting_queries) as queries,
      (select count(*) from forgetting_words) as words`.execute(db)
  return only(rows)
}
