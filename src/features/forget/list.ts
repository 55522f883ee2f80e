// Deletes lists and queries in batches, and finds obstacles and remaining data.

import type { Database } from '../../base/database/database.ts'
import { clock, clockBefore } from '../../base/database/clock.ts'
import {
  type Expression,
  expressionBuilder,
  type SelectQueryBuilder,
  sql,
  type Transaction,
} from '../../base/database/kysely.ts'
import { lockKey, lockList } from '../../base/database/lock.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { Query } from '../../base/query.ts'
import { dayMs } from '../../base/time/zone.ts'
import {
  addRows,
  type DeletedRows,
  patiently,
  removeAnswers,
  touched,
  wordPattern,
} from './naming.ts'

const listPortion = 2000

/** A list to be forgotten. */
export interface List {
  readonly id: number
  readonly name: string
}

/** A subject to forget. */
export type Forgettable =
  | { readonly kind: 'list'; readonly list: List }
  | { readonly kind: 'query'; readonly q: string; readonly ids: readonly string[] }

/** Finds a list by name, unless it was forgotten. */
export async function findLivingList(db: Database, name: string): Promise<List | null> {
  const living = db.selectFrom('lists').where('forgotten_at', 'is', null)
  return (await living.select(['id', 'name']).where('name', '=', name).executeTakeFirst()) ?? null
}

/** Queries that only this list contains or has bought. */
export function aloneIn(list: number) {
  const eb = expressionBuilder<DB>()
  const listed = eb.selectFrom('list_queries').select('query_id')
  const bought = eb
    .selectFrom('tasks as t')
    .innerJoin('runs as r', 'r.id', 't.run_id')
    .innerJoin('lists as l', 'l.id', 'r.list_id')
    .select('t.query_id')
  // Queries that a forgotten list left to other lists are deleted with the last of these lists.
  const others = bought.where('l.id', '<>', list).where('l.forgotten_at', 'is', null)
  return listed
    .where('list_id', '=', list)
    .union(bought.where('l.id', '=', list))
    .except(listed.where('list_id', '<>', list))
    .except(others)
}

/** Subquery for the ids of queries. */
export type QueryIds =
  | ReturnType<typeof aloneIn>
  | SelectQueryBuilder<DB, 'queries', { query_id: string }>

/** Records the queries that only this list has. */
export async function markAlone(db: Database, list: number): Promise<void> {
  await db
    .insertInto('forgetting_queries')
    .columns(['query_id', 'list_id'])
    .expression((eb) =>
      eb.selectFrom(aloneIn(list).as('alone')).select(['query_id', eb.val(list).as('list_id')]),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Tables with data of a list about its queries, in the order of deletion: the members of the list come last. */
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

function takeMembers(
  db: Database,
  table: (typeof mentionTables)[number],
  list: number,
): Promise<number> {
  const some = db.selectFrom(table).where('list_id', '=', list).limit(listPortion)
  return touched(db, db.deleteFrom(table).where(isAmong(some.select(rowPlace.as('place')))))
}

/** Address of a row. */
const rowPlace = sql.ref<string>('ctid')

/** True for the rows at these addresses. */
function isAmong(places: Expression<{ place: string }>) {
  const { eb, fn } = expressionBuilder<DB>()
  return eb(rowPlace, '=', fn.any(fn<string[]>('array', [places])))
}

/**
 * Ends the list itself as the last step. Its runs and their costs remain under a placeholder name. Returns false if the
 * list was read again in the meantime; planning a list takes the same lock.
 */
export async function endList(db: Database, { id, name }: List): Promise<boolean> {
  return patiently(() =>
    db.transaction().execute(async (trx) => {
      await lockList(trx, name)
      const open = trx.selectFrom('runs').where('state', 'in', ['planning', 'open'])
      const used = trx
        .selectFrom('list_queries')
        .where('list_id', '=', id)
        .unionAll(open.where('list_id', '=', id))
      if ((await used.limit(1).executeTakeFirst()) !== undefined) return false
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

/** Chooses the next queries and their next answers; `done` is true if no queries are left. */
async function choose(trx: Transaction<DB>) {
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

/**
 * Selects the tasks of these answers or, without answers, the tasks without an answer. Searches run by run, because the
 * unique key starts with the run.
 */
async function choosePending(
  trx: Transaction<DB>,
  queries: readonly string[],
  answers: readonly number[],
): Promise<readonly number[]> {
  const most = answers.length === 0 ? tasksAtOnce : null
  const rows = await readRows<{ id: number }>(trx, 'pending_tasks', { queries, answers, most })
  return rows.map(({ id }) => id)
}

/** Deletes tasks but keeps their calls, with cost and run but without the query. */
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
      .set(({ fn, ...eb }) => ({
        mark: eb.case().when('mark', 'is', null).then(fn<string>('gen_random_uuid')).end(),
      }))
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
 * Deletes the queries once nothing else refers to them. Writes are locked out in the meantime, because a list that is
 * being planned could refer to an existing query. Planning commits the queries of a list together with its run.
 */
async function endQueries(trx: Transaction<DB>, queries: readonly string[]): Promise<DeletedRows> {
  await sql`set local lock_timeout = '1s'`.execute(trx)
  await sql`lock table queries in share row exclusive mode`.execute(trx)
  await trx
    .selectFrom('lists as l')
    .where('l.id', 'in', (eb) =>
      eb
        .selectFrom('list_queries')
        .where('query_id', '=', eb.fn.any(eb.val(queries)))
        .select('list_id'),
    )
    .select((eb) => {
      const name = eb(eb.val('querymill list '), '||', eb.ref('l.name'))
      return eb.fn('pg_advisory_xact_lock', [lockKey(name)]).as('locked')
    })
    .execute()
  const ends = await findUnused(trx, queries)
  const gone = await removeQueries(
    trx,
    ends.map((row) => row.query_id),
  )
  // This includes queries with an open task, which are in use again.
  await trx
    .deleteFrom('forgetting_queries')
    .where((eb) => eb('query_id', '=', eb.fn.any(eb.val(queries))))
    .execute()
  return gone
}

/** Finds the queries that no answer, no task and no other list refers to. */
async function findUnused(trx: Transaction<DB>, queries: readonly string[]) {
  return trx
    .selectFrom('forgetting_queries as f')
    .where((eb) => eb('f.query_id', '=', eb.fn.any(eb.val(queries))))
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('searches as s').whereRef('s.query_id', '=', 'f.query_id'))),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('runs as r')
            .crossJoinLateral((run) =>
              run
                .selectFrom('tasks as t')
                .whereRef('t.run_id', '=', 'r.id')
                .whereRef('t.query_id', '=', 'f.query_id')
                .select('t.id')
                .offset(eb.lit(0))
                .as('t'),
            ),
        ),
      ),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('lists as l')
            .innerJoin('list_queries as m', 'm.list_id', 'l.id')
            .whereRef('m.query_id', '=', 'f.query_id')
            .whereRef('l.id', '<>', 'f.list_id'),
        ),
      ),
    )
    .select('f.query_id')
    .execute()
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

// This mark is stored in the table of words to be deleted. After an interruption, only the mark shows that the sums
// must be deleted.
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
  for (const table of [
    'finished_labels',
    'finished_queries',
    'finished_shares',
    'finished_steps',
    'finished_losses',
    'finished_answers',
    'finished_groups',
    'finished_related',
    'finished_costs',
    'finished_keywords',
    'finished_keyword_days',
  ] as const) {
    const left = db
      .selectFrom(table)
      .where((eb) =>
        eb.not(eb.exists(eb.selectFrom('finished_days as d').whereRef('d.id', '=', 'finish_id'))),
      )
    await clear(db, table, left.limit(dayPortion).select(rowPlace.as('place')))
  }
  const unnamed = db
    .selectFrom('seen_pages as t')
    .where((eb) =>
      eb.or([
        eb.not(eb.exists(eb.selectFrom('queries as q').whereRef('q.id', '=', 't.query_id'))),
        eb.not(eb.exists(eb.selectFrom('pages as p').whereRef('p.id', '=', 't.page_id'))),
      ]),
    )
  await clear(db, 'seen_pages', unnamed.limit(dayPortion).select(rowPlace.as('place')))
  const { kind, id } = mark
  await db.deleteFrom('forgetting_words').where('kind', '=', kind).where('id', '=', id).execute()
}

async function clear(
  db: Database,
  table: keyof DB,
  some: Expression<{ place: string }>,
): Promise<void> {
  const change = db.deleteFrom(table).where(isAmong(some))
  while ((await patiently(() => touched(db, change))) === dayPortion);
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

/** Unfinished runs, calls whose answer may still arrive, and schedules that would read a list again. */
export type Blockers = Awaited<ReturnType<typeof readBlockers>>

/** Maximum delay of a late answer. A call, its storing and the server's grace period take far less time. */
const lateAnswersMs = 10 * 60_000

function runsInUse(db: Database) {
  return db.selectFrom('runs as r').where((eb) => {
    const open = eb.selectFrom('tasks as t').whereRef('t.run_id', '=', 'r.id')
    return eb.or([
      eb('r.state', 'in', ['planning', 'open']),
      eb.and([
        eb('r.state', '=', 'cancelled'),
        eb('r.finished_at', '>', clockBefore(dayMs)),
        eb.exists(open.where('t.state', '=', 'open')),
      ]),
    ])
  })
}

function pendingCalls(db: Database) {
  return db
    .selectFrom('calls as c')
    .leftJoin('tasks as t', 't.id', 'c.task_id')
    .where((eb) =>
      eb.or([
        eb('c.outcome', 'is', null),
        eb.and([
          eb('c.outcome', '=', 'unknown'),
          eb('c.washed_at', 'is', null),
          eb('c.unknown_at', '>', clockBefore(lateAnswersMs)),
        ]),
      ]),
    )
}

interface Ways {
  readonly runs: ReturnType<typeof runsInUse>
  readonly calls: ReturnType<typeof pendingCalls>
  readonly list: string
}

async function readBlockers(db: Database, { runs, calls, list }: Ways) {
  const schedules = db.selectFrom('schedules').where('list', '=', list).where('enabled', '=', true)
  const ids = runs.orderBy('r.id').select((eb) => eb.cast<number>('r.id', 'float8').as('id'))
  return db
    .selectNoFrom(({ fn }) => [
      fn<number[]>('array', [ids]).as('runs'),
      calls.select(fn.countAll<number>().as('n')).$asScalar().$notNull().as('calls'),
      fn<string[]>('array', [schedules.orderBy('name').select('name')]).as('schedules'),
    ])
    .executeTakeFirstOrThrow()
}

/** Finds obstacles to forgetting a list. */
export function blockersOfList(db: Database, { id, name }: List): Promise<Blockers> {
  const ofList = db.selectFrom('runs').where('list_id', '=', id).select('runs.id')
  return readBlockers(db, {
    runs: runsInUse(db).where('r.list_id', '=', id),
    calls: pendingCalls(db).where('t.run_id', 'in', ofList),
    list: name,
  })
}

/** Finds obstacles to forgetting queries: runs that contain them. */
export function blockersOfQueries(db: Database, ids: readonly string[]): Promise<Blockers> {
  return readBlockers(db, {
    runs: runsInUse(db).where((eb) =>
      eb.exists(
        eb
          .selectFrom('tasks as t')
          .whereRef('t.run_id', '=', 'r.id')
          .where('t.query_id', '=', eb.fn.any(eb.val(ids))),
      ),
    ),
    calls: pendingCalls(db).where((eb) => eb('c.query_id', '=', eb.fn.any(eb.val(ids)))),
    list: '',
  })
}

/** Finds the queries with the given text. */
export async function findHeldQueries(
  db: Database,
  q: string,
): Promise<readonly (Query & { readonly id: string })[]> {
  return db
    .selectFrom('queries')
    .select(['id', 'q', 'location', 'hl', 'gl', 'num'])
    .select((eb) => eb.ref('device').$castTo<Query['device']>().as('device'))
    .where('q', '=', q)
    .orderBy('key')
    .execute()
}

/** Related data that remains when a list is forgotten: its queries in other lists, and lists named after it. */
export async function mentionsLeft(db: Database, { id, name }: List) {
  const shared = db
    .selectFrom('list_queries')
    .where('list_id', '=', id)
    .where('query_id', 'not in', aloneIn(id))
  const namesakes = db
    .selectFrom('lists')
    .where('id', '<>', id)
    .where('name', '~*', wordPattern(name))
  return db
    .selectNoFrom(({ fn }) => [
      shared.select(fn.countAll<number>().as('n')).$asScalar().$notNull().as('shared'),
      fn<string[]>('array', [namesakes.orderBy('name').select('name')]).as('namesakes'),
    ])
    .executeTakeFirstOrThrow()
}

/** Counts the leftovers of an interrupted forget. */
export async function countLeft(db: Database) {
  const rowsOf = (table: 'forgetting_queries' | 'forgetting_words') =>
    db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('n'))
      .$asScalar()
      .$notNull()
  return db
    .selectNoFrom([
      rowsOf('forgetting_queries').as('queries'),
      rowsOf('forgetting_words').as('words'),
    ])
    .executeTakeFirstOrThrow()
}
