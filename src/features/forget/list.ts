// Deletes lists and queries in batches, and finds obstacles and remaining data.

import type { Database } from '../../base/database/database.ts'
import { clock } from '../../base/database/clock.ts'
import { type RawBuilder, sql, type Transaction } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { only } from '../../base/database/sql-file.ts'
import type { Query } from '../../base/query.ts'
import { addRows, type DeletedRows, patiently, removeAnswers, tally, touched } from './naming.ts'

const listPortion = 2000

/** A list to be forgotten. */
export interface List {
  readonly id: number
  readonly name: string
}

/** Finds a list by name, unless it was forgotten. */
export async function findLivingList(db: Database, name: string): Promise<List | null> {
  const living = db.selectFrom('lists').where('forgotten_at', 'is', null)
  return (await living.select(['id', 'name']).where('name', '=', name).executeTakeFirst()) ?? null
}

/** Queries that only this list contains or has bought. */
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

/** Records the queries that only this list has. */
export async function markAlone(db: Database, list: number): Promise<void> {
  await sql`
    insert into forgetting_queries (query_id, list_id)
    select query_id, ${list}::bigint from (${aloneIn(list)}) as alone
    on conflict do nothing`.execute(db)
}

/** Tables of lists about queries; the rows of the list itself are deleted last. */
export const mentionTables = [
  'list_query_history',
  'cadences',
  'cadence_draws',
  'list_queries',
] as const

/** Deletes the list's data about queries that other lists also contain. */
export async function forgetMembers(
  db: Database,
  list: number,
  onDeleted: OnDeleted,
): Promise<DeletedRows> {
  let gone: DeletedRows = {}
  for (const table of mentionTables) {
    for (;;) {
      const rows = await patiently(() => takeMembers(db, table, list))
      gone = addRows(gone, { [table]: rows })
      onDeleted(gone)
      if (rows < listPortion) break
    }
  }
  return gone
}

function takeMembers(db: Database, table: string, list: number): Promise<number> {
  return tally(
    sql`
      delete from ${sql.table(table)}
      where ctid = any(array(select ctid from ${sql.table(table)} where list_id = ${list} limit ${listPortion}))`.execute(
      db,
    ),
  )
}

/**
 * Ends the list itself as the last step: its runs and their spending remain under a placeholder name. Returns false if
 * it was read again in the meantime. Planning a list takes the same lock.
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
      await markDays(trx)
      await trx.deleteFrom('cadence_nights').where('list_id', '=', id).execute()
      await trx
        .updateTable('lists')
        .set({ name: `forgotten-${id}`, source: '', reading: null, budget: null })
        .set({ forgotten_at: clock })
        .where('id', '=', id)
        .execute()
      return true
    }),
  )
}

/** Ends expansions of the list: related searches in other lists remain, without their source query. */
async function endExpansions(trx: Transaction<DB>, list: number): Promise<void> {
  await trx.deleteFrom('expansions').where('list_id', '=', list).execute()
  await trx
    .updateTable('expansions')
    .set({ from_query: nobody })
    .where('source_list_id', '=', list)
    .where('round', '=', 1)
    .execute()
}

/** Placeholder for the id of a deleted query. */
const nobody = '00000000-0000-0000-0000-000000000000'

// Batch sizes: locks are held for one batch of some thousand rows.
const queriesAtOnce = 20
const answersAtOnce = 200
const tasksAtOnce = 2000

/** Called with the rows deleted so far. */
export type OnDeleted = (gone: DeletedRows) => void

interface Portion {
  readonly queries: readonly string[]
  readonly answers: readonly number[]
  /** True if nothing is left to do. */
  readonly done: boolean
}

/**
 * Forgets the queries in `forgetting_queries` in atomic batches: answers are deleted with their tasks; calls and their
 * costs remain. A query in use again is skipped.
 */
export async function forgetQueries(db: Database, onDeleted: OnDeleted): Promise<DeletedRows> {
  let gone: DeletedRows = {}
  for (;;) {
    const portion = await patiently(() => db.transaction().execute(nextPortion))
    gone = addRows(gone, portion.gone)
    onDeleted(gone)
    if (portion.done) return gone
  }
}

async function nextPortion(trx: Transaction<DB>): Promise<{ gone: DeletedRows; done: boolean }> {
  const { queries, answers, done } = await choose(trx)
  if (done) return { gone: {}, done }
  const tasks = await choosePending(trx, queries, answers)
  if (answers.length === 0 && tasks.length === 0) {
    return { gone: await endQueries(trx, queries), done }
  }
  const paid = await forgetTasks(trx, tasks)
  return { gone: addRows(paid, await removeAnswers(trx, answers)), done }
}

async function choose(trx: Transaction<DB>): Promise<Portion> {
  const due = await trx
    .selectFrom('forgetting_queries')
    .select('query_id')
    .orderBy('query_id')
    .limit(queriesAtOnce)
    .execute()
  const queries = due.map((row) => row.query_id)
  const answers = await trx
    .selectFrom('searches')
    .select('id')
    .where((eb) => eb('query_id', '=', eb.fn.any(eb.val(queries))))
    .orderBy('id')
    .limit(answersAtOnce)
    .execute()
  return { queries, answers: answers.map(({ id }) => id), done: queries.length === 0 }
}

/** Selects the tasks answered by these answers, or without answers the unanswered ones. Uses the key, run by run. */
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

/** Deletes tasks but keeps their calls: their cost and run, without the query. */
async function forgetTasks(trx: Transaction<DB>, tasks: readonly number[]): Promise<DeletedRows> {
  const gone = await touched(
    trx,
    trx
      .with('gone', (db) =>
        db
          .deleteFrom('tasks')
          .where((eb) => eb('id', '=', eb.fn.any(eb.val(tasks))))
          .returning(['id', 'run_id']),
      )
      .insertInto('forgotten_tasks')
      .columns(['task_id', 'run_id'])
      .expression((eb) => eb.selectFrom('gone').select(['id', 'run_id']))
      .onConflict((conflict) => conflict.doNothing()),
  )
  // Without the mark, a late answer matches no call and is not stored, and no process requests it again.
  const calls = await touched(
    trx,
    trx
      .updateTable('calls')
      .set({ query_id: nobody, error_message: null })
      .set({ mark: sql<string | null>`case when mark is null then gen_random_uuid() end` })
      .where((eb) => eb('task_id', '=', eb.fn.any(eb.val(tasks)))),
  )
  const bodies = await touched(
    trx,
    trx
      .deleteFrom('raw_answers')
      .using('calls')
      .whereRef('raw_answers.call_id', '=', 'calls.id')
      .where((eb) => eb('calls.task_id', '=', eb.fn.any(eb.val(tasks)))),
  )
  return { tasks: gone, calls, raw_answers: bodies }
}

/**
 * Deletes the queries once nothing else refers to them. A list being planned could refer to an existing query, so
 * writes are locked out in the meantime; a list whose queries are committed has its run as well.
 */
async function endQueries(trx: Transaction<DB>, queries: readonly string[]): Promise<DeletedRows> {
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
  const gone = await removeQueries(
    trx,
    rows.map(({ id }) => id),
  )
  // Queries with an open task are in use again.
  await trx
    .deleteFrom('forgetting_queries')
    .where((eb) => eb('query_id', '=', eb.fn.any(eb.val(queries))))
    .execute()
  return gone
}

/** Deletes queries, and all list data about them. */
async function removeQueries(trx: Transaction<DB>, ends: readonly string[]): Promise<DeletedRows> {
  const gone: Record<string, number> = {}
  for (const table of [...mentionTables.toReversed(), 'expansions', 'alerts'] as const) {
    gone[table] = await touched(
      trx,
      trx.deleteFrom(table).where((eb) => eb('query_id', '=', eb.fn.any(eb.val(ends)))),
    )
  }
  await trx
    .updateTable('expansions')
    .set({ from_query: nobody })
    .where((eb) => eb('from_query', '=', eb.fn.any(eb.val(ends))))
    .execute()
  gone['queries'] = await touched(
    trx,
    trx.deleteFrom('queries').where((eb) => eb('id', '=', eb.fn.any(eb.val(ends)))),
  )
  return gone
}

const dayPortion = 10_000

// Stored with the words still to be deleted, as the only record after an interruption that the sums must be deleted.
const mark = { kind: 'finished_days', id: nobody } as const

/** Records that sums must be deleted, so that an interrupted command can be continued. */
export async function markDays(db: Database): Promise<void> {
  await db
    .insertInto('forgetting_words')
    .values(mark)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Deletes the sums of all days, which contain labels and domains; they are computed again from the remaining data. */
export async function clearDays(db: Database): Promise<void> {
  await patiently(() => db.deleteFrom('finished_days').execute())
  const kept = ['finished_labels', 'finished_queries', 'finished_shares', 'finished_steps'] as const
  for (const table of [...kept, 'finished_keywords', 'finished_keyword_days'] as const) {
    await clear(db, table, sql`not exists (select from finished_days d where d.id = t.finish_id)`)
  }
  await clear(
    db,
    'seen_pages',
    sql`
      not exists (select from queries q where q.id = t.query_id)
      or not exists (select from pages p where p.id = t.page_id)`,
  )
  const { kind, id } = mark
  await db.deleteFrom('forgetting_words').where('kind', '=', kind).where('id', '=', id).execute()
}

async function clear(db: Database, table: string, where: ReturnType<typeof sql>): Promise<void> {
  for (;;) {
    const rows = await patiently(() =>
      tally(
        sql`
          delete from ${sql.table(table)}
          where ctid = any(array(select ctid from ${sql.table(table)} t where ${where} limit ${dayPortion}))`.execute(
          db,
        ),
      ),
    )
    if (rows < dayPortion) return
  }
}

/** Number of days with stored sums. */
export async function countDays(db: Database): Promise<number> {
  const { days } = await db
    .selectFrom('finished_days')
    .select((eb) => eb.fn.countAll<number>().as('days'))
    .where('made_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return days
}

/** Obstacles to forgetting; each ends by itself or by a command. */
export interface Blockers {
  /** Unfinished runs. */
  readonly runs: readonly number[]
  /** Calls whose answer is pending or may still arrive. */
  readonly calls: number
  /** Schedules that would read the list again. */
  readonly schedules: readonly string[]
}

/** Maximum delay of a late answer; a call, its storing and the server's grace period are far shorter. */
const lateAnswers = sql`interval '10 minutes'`

async function readBlockers(
  db: Database,
  { runs, calls, list }: { runs: RawBuilder<boolean>; calls: RawBuilder<boolean>; list: string },
): Promise<Blockers> {
  const { rows } = await sql<Blockers>`
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

/** Finds obstacles to forgetting a list. */
export function blockersOfList(db: Database, { id, name }: List): Promise<Blockers> {
  return readBlockers(db, {
    runs: sql`r.list_id = ${id}`,
    calls: sql`t.run_id in (select runs.id from runs where runs.list_id = ${id})`,
    list: name,
  })
}

/** Finds obstacles to forgetting queries: runs that ask them. */
export function blockersOfQueries(db: Database, ids: readonly string[]): Promise<Blockers> {
  const queries = sql`any(${ids}::uuid[])`
  return readBlockers(db, {
    runs: sql`exists (select from tasks t where t.run_id = r.id and t.query_id = ${queries})`,
    calls: sql`c.query_id = ${queries}`,
    list: '',
  })
}

/** A stored query with its parameters. */
export type HeldQuery = Query & { readonly id: string }

/** Finds queries with a text; parameters that are given must match. */
export async function findHeldQueries(
  db: Database,
  q: string,
  narrow: Partial<Omit<Query, 'q'>>,
): Promise<readonly HeldQuery[]> {
  const rows = await db
    .selectFrom('queries')
    .select(['id', 'q', 'location', 'hl', 'gl', 'num', 'device'])
    .where((eb) => eb.and({ q, ...narrow }))
    .orderBy('key')
    .execute()
  return rows as HeldQuery[]
}

/** Related data that remains. */
export interface RemainingMentions {
  /** Queries of the list that other lists also contain. */
  readonly shared: number
  /** Lists and queries whose names contain the words. */
  readonly namesakes: readonly string[]
}

/** Finds related data that remains when a list is forgotten. */
export async function mentionsLeftByList(
  db: Database,
  { id }: List,
  pattern: string,
): Promise<RemainingMentions> {
  const { rows } = await sql<RemainingMentions>`
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

/** Queries of lists that mention the domain. */
export async function mentionsLeftByDomain(
  db: Database,
  pattern: string,
): Promise<RemainingMentions> {
  const rows = await db
    .selectFrom('queries')
    .select('q')
    .distinct()
    .where('q', '~*', pattern)
    .orderBy('q')
    .limit(100)
    .execute()
  return { shared: 0, namesakes: rows.map(({ q }) => q) }
}

/** Counts the leftovers of an interrupted forget. */
export async function countLeft(
  db: Database,
): Promise<{ readonly queries: number; readonly words: number }> {
  return db
    .selectNoFrom((eb) => [
      eb
        .selectFrom('forgetting_queries')
        .select(eb.fn.countAll<number>().as('n'))
        .$asScalar()
        .$notNull()
        .as('queries'),
      eb
        .selectFrom('forgetting_words')
        .select(eb.fn.countAll<number>().as('n'))
        .$asScalar()
        .$notNull()
        .as('words'),
    ])
    .executeTakeFirstOrThrow()
}
