import type { Database } from '../database.ts'
import { sql, type Transaction } from '../kysely.ts'
import type { DB } from '../schema.ts'
import { removeAnswers } from './facts.ts'
import { addGone, tally, type Gone } from './gone.ts'
import { patiently } from './patience.ts'

/** In the place of the number of a query that is no more. */
export const nobody = '00000000-0000-0000-0000-000000000000'

// A portion holds the locks of its rows for as long as it takes: some thousand rows.
const queriesAtOnce = 20
const answersAtOnce = 200
const tasksAtOnce = 2000

/** Hears what went by now. */
export type TellGone = (gone: Gone) => void

interface Portion {
  readonly queries: readonly string[]
  readonly answers: readonly number[]
  /** True: there is nothing left to be done. */
  readonly done: boolean
}

/**
 * Forgets the queries of `forgetting_queries`, in portions that are whole by themselves: answers go with the tasks that
 * they are the answers of, calls stay with their money. A query that was taken up anew meanwhile is left alone.
 */
export async function forgetQueries(db: Database, tell: TellGone): Promise<Gone> {
  let gone: Gone = {}
  for (;;) {
    const portion = await patiently(() => db.transaction().execute(nextPortion))
    gone = addGone(gone, portion.gone)
    tell(gone)
    if (portion.done) return gone
  }
}

async function nextPortion(trx: Transaction<DB>): Promise<{ gone: Gone; done: boolean }> {
  const { queries, answers, done } = await choose(trx)
  if (done) return { gone: {}, done }
  const tasks = await choosePending(trx, queries, answers)
  if (answers.length === 0 && tasks.length === 0) {
    return { gone: await endQueries(trx, queries), done }
  }
  const paid = await forgetTasks(trx, tasks)
  return { gone: addGone(paid, await removeAnswers(trx, answers)), done }
}

async function choose(trx: Transaction<DB>): Promise<Portion> {
  const { rows: due } = await sql<{ id: string }>`
    select query_id as id from forgetting_queries order by query_id limit ${queriesAtOnce}`.execute(
    trx,
  )
  const queries = due.map(({ id }) => id)
  const { rows } = await sql<{ id: number }>`
    select id from searches where query_id = any(${queries}::uuid[]) order by id limit ${answersAtOnce}`.execute(
    trx,
  )
  return { queries, answers: rows.map(({ id }) => id), done: queries.length === 0 }
}

/** The tasks that were answered by these answers; without answers, those that never were. Looked up by key, run by run. */
async function choosePending(
  trx: Transaction<DB>,
  queries: readonly string[],
  answers: readonly number[],
): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`
    select t.id
    from runs r
    cross join unnest(${queries}::uuid[]) as asked (query_id)
    cross join lateral (
      select t.id, t.state, t.search_id from tasks t where t.run_id = r.id and t.query_id = asked.query_id offset 0
    ) as t
    where t.state <> 'open'
      and (
        cardinality(${answers}::bigint[]) = 0
        or t.search_id = any(${answers}::bigint[])
        or t.id in (select s.task_id from searches s where s.id = any(${answers}::bigint[]))
      )
    order by t.id
    limit ${answers.length === 0 ? tasksAtOnce : null}`.execute(trx)
  return rows.map(({ id }) => id)
}

/** Takes tasks away and leaves their calls: what was charged, and for which run, and nothing of what was asked. */
async function forgetTasks(trx: Transaction<DB>, tasks: readonly number[]): Promise<Gone> {
  const ids = sql`${tasks}::bigint[]`
  const gone = await tally(
    sql`
      with gone as (
        delete from tasks where id = any(${ids}) returning id, run_id
      )
      insert into forgotten_tasks (task_id, run_id)
      select id, run_id from gone
      on conflict do nothing`.execute(trx),
  )
  // An answer that comes late names a mark that no call has: it is not stored. Without one nobody asks for it again.
  const calls = await tally(
    sql`
      update calls
      set query_id = ${nobody}, error_message = null, mark = case when mark is null then gen_random_uuid() end
      where task_id = any(${ids})`.execute(trx),
  )
  const bodies = await tally(
    sql`
      delete from raw_answers
      using calls
      where calls.task_id = any(${ids}) and raw_answers.call_id = calls.id`.execute(trx),
  )
  return { tasks: gone, calls, raw_answers: bodies }
}

/**
 * The queries themselves, of which nothing else is left. A list that is being planned would find a query in its table and
 * rest on it: none is written meanwhile, and one whose queries are written has its run as well.
 */
async function endQueries(trx: Transaction<DB>, queries: readonly string[]): Promise<Gone> {
  await sql`set local lock_timeout = '1s'`.execute(trx)
  await sql`lock table queries in share row exclusive mode`.execute(trx)
  await sql`
    select pg_advisory_xact_lock(hashtextextended('querymill list ' || l.name, 0))
    from lists l
    where l.id in (select list_id from list_queries where query_id = any(${queries}::uuid[]))`.execute(
    trx,
  )
  const { rows } = await sql<{ id: string }>`
    select f.query_id as id
    from forgetting_queries f
    where f.query_id = any(${queries}::uuid[])
      and not exists (select from searches s where s.query_id = f.query_id)
      and not exists (
        select
        from runs r
        cross join lateral (
          select t.id from tasks t where t.run_id = r.id and t.query_id = f.query_id offset 0
        ) as t
      )
      and not exists (
        select
        from lists l
        join list_queries m on m.list_id = l.id
        where m.query_id = f.query_id and l.id <> f.list_id
      )`.execute(trx)
  const ends = sql`${rows.map(({ id }) => id)}::uuid[]`
  const gone: Record<string, number> = {}
  for (const table of [
    'list_queries',
    'list_query_history',
    'cadences',
    'cadence_draws',
    'expansions',
    'alerts',
  ]) {
    gone[table] = await tally(
      sql`delete from ${sql.table(table)} where query_id = any(${ends})`.execute(trx),
    )
  }
  await sql`update expansions set from_query = ${nobody} where from_query = any(${ends})`.execute(
    trx,
  )
  gone['queries'] = await tally(sql`delete from queries where id = any(${ends})`.execute(trx))
  // Those with an open task were taken up anew.
  await sql`delete from forgetting_queries where query_id = any(${queries}::uuid[])`.execute(trx)
  return gone
}
