// Deletes all data about a list or a query, in steps that can be resumed after an interruption.

import { clock } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { factTables, sumTables } from '../../base/database/facts.ts'
import {
  countOf,
  type Expression,
  expressionBuilder,
  sql,
  type SqlBool,
  type Transaction,
} from '../../base/database/kysely.ts'
import { lockKey, lockList } from '../../base/database/lock.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows, statement } from '../../base/database/sql-file.ts'
import { aloneIn, type Forgettable, type List, oneOf, relatedTo } from './subject.ts'
import {
  countTexts,
  type DeletedRows,
  forgetTexts,
  forgetWords,
  patiently,
  sumRows,
  touched,
} from './texts.ts'

/** Tables with data about a list's queries, in the order of deletion. `list_queries` comes last. */
const mentionTables = ['list_query_history', 'cadences', 'cadence_draws', 'list_queries'] as const

type OnDeleted = (gone: DeletedRows) => void

/** Tables whose rows belong to an answer and are deleted with it. */
const tablesOfAnswers = [...factTables, 'quarantine', 'trust_marks'] as const

/** Tables that refer to queries, in addition to the list tables. */
const ofQueries = ['searches', 'tasks', 'calls', 'expansions'] as const

export async function countSubject(db: Database, subject: Forgettable): Promise<DeletedRows> {
  const gone = await queriesOf(db, subject).execute()
  const ids = gone.map(({ query_id: id }) => id)
  const ofSubject =
    subject.kind === 'list' ? oneOf('list_id', [subject.list.id]) : oneOf('query_id', ids)
  const answers = db.selectFrom('searches').where(oneOf('query_id', ids)).select('id')
  const paid = db.selectFrom('calls').where(oneOf('query_id', ids)).select('id')
  const counts = [await countTexts(db, subject)]
  for (const [name, rows] of [
    ['queries', db.selectFrom('queries').where(oneOf('id', ids))],
    ...mentionTables.map((table) => [table, db.selectFrom(table).where(ofSubject)] as const),
    ...ofQueries.map((table) => {
      return [table, db.selectFrom(table).where(oneOf('query_id', ids))] as const
    }),
    ...tablesOfAnswers.map((table) => {
      return [table, db.selectFrom(table).where('search_id', 'in', answers)] as const
    }),
    ['raw_answers', db.selectFrom('raw_answers').where('call_id', 'in', paid)],
    ...(subject.kind === 'list' ? [] : relatedRows(db, subject.q)),
  ] as const) {
    counts.push({ [name]: await countOf(db, rows) })
  }
  return sumRows(counts)
}

function queriesOf(db: Database, subject: Forgettable) {
  const queries =
    subject.kind === 'list'
      ? aloneIn(subject.list.id)
      : db.selectFrom('queries').where(oneOf('id', subject.ids)).select('id as query_id')
  return db.selectFrom(queries.as('gone')).select('query_id')
}

/** Selects the rows for answers that suggest a query as a related search, and the stored bodies of these answers. */
function relatedRows(db: Database, q: string) {
  const rows = db
    .selectFrom('search_related_searches')
    .where('related_search_id', 'in', relatedTo(q))
  const bodies = db.selectFrom('raw_answers').where('call_id', 'in', rows.select('search_id'))
  return [
    ['search_related_searches', rows],
    ['raw_answers', bodies],
    ['related_searches', relatedTo(q)],
  ] as const
}

/** Deletes a subject's data in atomic batches. After an interruption, call the function again to continue. */
export async function forgetSubject(db: Database, subject: Forgettable, onDeleted: OnDeleted) {
  const texts = await forgetTexts(db, subject)
  await markDays(db)
  const related = subject.kind === 'list' ? {} : await forgetRelated(db, subject.q, onDeleted)
  const list = subject.kind === 'list' ? subject.list.id : null
  await db
    .insertInto('forgetting_queries')
    .columns(['query_id', 'list_id'])
    .expression((eb) =>
      queriesOf(db, subject).select(eb.cast<number | null>(eb.val(list), 'bigint').as('list_id')),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const facts = await forgetQueries(db, onDeleted)
  const members = list === null ? {} : await forgetMembers(db, list, onDeleted)
  const words = await forgetWords(db)
  await clearDays(db)
  return sumRows([texts, related, facts, members, words])
}

/** Marks a list whose data was deleted as forgotten; returns false if the list was read again in the meantime. */
export async function sealList(db: Database, list: List): Promise<boolean> {
  const ended = await patiently(() => db.transaction().execute((trx) => endList(trx, list)))
  // Sums stored in the meantime still contain the list's name.
  await clearDays(db)
  return ended
}

export async function finishForgetting(db: Database, onDeleted: OnDeleted): Promise<DeletedRows> {
  const gone = sumRows([await forgetQueries(db, onDeleted), await forgetWords(db)])
  await clearDays(db)
  return gone
}

/** Calls `run`, or returns null if another process is forgetting a list or query. */
export async function aloneForgetting<T>(db: Database, run: () => Promise<T>): Promise<T | null> {
  const key = lockKey(expressionBuilder<DB>().val('querymill forget'))
  return db.connection().execute(async (held) => {
    const { got } = await held
      .selectNoFrom(({ fn }) => fn<boolean>('pg_try_advisory_lock', [key]).as('got'))
      .executeTakeFirstOrThrow()
    if (!got) return null
    try {
      return await run()
    } finally {
      await held.selectNoFrom(({ fn }) => fn('pg_advisory_unlock', [key]).as('released')).execute()
    }
  })
}

const relatedAtOnce = 1000

/** Deletes a query from other queries' related searches, and the bodies of the answers that contain it. */
async function forgetRelated(db: Database, q: string, onDeleted: OnDeleted): Promise<DeletedRows> {
  await db
    .insertInto('forgetting_words')
    .columns(['kind', 'id'])
    .expression((eb) =>
      relatedTo(q)
        .clearSelect()
        .select([eb.val('related_searches').as('kind'), 'id']),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const { last } = await db
    .selectFrom('calls')
    .select((eb) => eb.fn.coalesce(eb.fn.max('id'), eb.lit(0)).as('last'))
    .executeTakeFirstOrThrow()
  let gone: DeletedRows = {}
  for (let after = 0; after < last; after += relatedAtOnce) {
    const some = await patiently(() => db.transaction().execute((trx) => removeRelated(trx, after)))
    gone = sumRows([gone, some])
    onDeleted(gone)
  }
  return gone
}

async function removeRelated(trx: Transaction<DB>, after: number): Promise<DeletedRows> {
  const rows = await trx
    .deleteFrom('search_related_searches')
    .where('search_id', '>', after)
    .where('search_id', '<=', after + relatedAtOnce)
    .where('related_search_id', 'in', (eb) =>
      eb.selectFrom('forgetting_words').where('kind', '=', 'related_searches').select('id'),
    )
    .returning('search_id')
    .execute()
  const answers = [...new Set(rows.map(({ search_id: id }) => id))]
  const bodies = trx
    .with('gone', (db) =>
      db.deleteFrom('raw_answers').where(oneOf('call_id', answers)).returning('call_id'),
    )
    .insertInto('forgotten_bodies')
    .columns(['call_id'])
    .expression((eb) => eb.selectFrom('gone').select('call_id'))
    .onConflict((conflict) => conflict.doNothing())
  return { search_related_searches: rows.length, raw_answers: await touched(trx, bodies) }
}

/** Deletes the list's data about queries that other lists also contain. */
async function forgetMembers(db: Database, list: number, onDeleted: OnDeleted) {
  const gone: Record<string, number> = {}
  for (const table of mentionTables) {
    gone[table] = await clear(db, table, oneOf('list_id', [list]))
    onDeleted(gone)
  }
  return gone
}

/** Keeps the list's runs and costs under a placeholder name. Planning a list takes the same lock. */
async function endList(trx: Transaction<DB>, { id, name }: List): Promise<boolean> {
  await lockList(trx, name)
  const open = trx.selectFrom('runs').where('state', 'in', ['planning', 'open'])
  const used = trx
    .selectFrom('list_queries')
    .where('list_id', '=', id)
    .unionAll(open.where('list_id', '=', id))
  if ((await used.limit(1).executeTakeFirst()) !== undefined) return false
  await trx.deleteFrom('expansions').where('list_id', '=', id).execute()
  // Other lists keep the related searches found through this list, but no longer record the source queries.
  await trx
    .updateTable('expansions')
    .set({ from_query: nobody })
    .where('source_list_id', '=', id)
    .where('round', '=', 1)
    .execute()
  await markDays(trx)
  await trx.deleteFrom('cadence_nights').where('list_id', '=', id).execute()
  await trx
    .updateTable('lists')
    .set({ name: `forgotten-${id}`, source: '', reading: null, budget: null })
    .set({ forgotten_at: clock })
    .where('id', '=', id)
    .execute()
  return true
}

/** Placeholder for a deleted query's id. */
const nobody = '00000000-0000-0000-0000-000000000000'

// Batch sizes. Locks are held for the duration of one batch, which affects a few thousand rows.
const queriesAtOnce = 20
const answersAtOnce = 200
const tasksAtOnce = 2000

/** Forgets the queries in `forgetting_queries` in batches. A query that is in use again is skipped. */
async function forgetQueries(db: Database, onDeleted: OnDeleted): Promise<DeletedRows> {
  let gone: DeletedRows = {}
  for (;;) {
    const some = await patiently(() => db.transaction().execute(nextPortion))
    if (some === null) return gone
    gone = sumRows([gone, some])
    onDeleted(gone)
  }
}

/** Forgets the next batch of queries, or of their answers. Returns null if no queries are left. */
async function nextPortion(trx: Transaction<DB>): Promise<DeletedRows | null> {
  const due = await trx
    .selectFrom('forgetting_queries')
    .select('query_id')
    .orderBy('query_id')
    .limit(queriesAtOnce)
    .execute()
  if (due.length === 0) return null
  const queries = due.map((row) => row.query_id)
  const found = await trx
    .selectFrom('searches')
    .select('id')
    .where(oneOf('query_id', queries))
    .orderBy('id')
    .limit(answersAtOnce)
    .execute()
  const answers = found.map(({ id }) => id)
  // Reads the tasks with these answers, or tasks without an answer if `answers` is empty. The statement searches run by
  // run, because the unique key starts with the run.
  const most = answers.length === 0 ? tasksAtOnce : null
  const pending = await readRows<{ id: number }>(trx, 'pending_tasks', { queries, answers, most })
  if (answers.length === 0 && pending.length === 0) return endQueries(trx, queries)
  const paid = await forgetTasks(
    trx,
    pending.map(({ id }) => id),
  )
  return sumRows([paid, await removeAnswers(trx, answers)])
}

/** Deletes answers and their bodies. Records the dictionary entries that may now be unused, to delete them later. */
async function removeAnswers(trx: Transaction<DB>, answers: readonly number[]) {
  await trx.executeQuery(statement('note_words', { answers }))
  await trx
    .deleteFrom('seen_pages')
    .using('organic_results as o')
    .innerJoin('searches as s', 's.id', 'o.search_id')
    .whereRef('seen_pages.page_id', '=', 'o.page_id')
    .whereRef('seen_pages.query_id', '=', 's.query_id')
    .where(oneOf('o.search_id', answers))
    .execute()
  return {
    ...(await removeFrom(trx, tablesOfAnswers, oneOf('search_id', answers))),
    ...(await removeFrom(trx, ['raw_answers'], oneOf('call_id', answers))),
    ...(await removeFrom(trx, ['searches'], oneOf('id', answers))),
  }
}

async function removeFrom(
  trx: Transaction<DB>,
  tables: readonly (keyof DB)[],
  where: Expression<SqlBool>,
): Promise<DeletedRows> {
  const gone: Record<string, number> = {}
  for (const table of tables) gone[table] = await touched(trx, trx.deleteFrom(table).where(where))
  return gone
}

/** Deletes tasks. Keeps their calls, with cost and run but without the query. */
async function forgetTasks(trx: Transaction<DB>, tasks: readonly number[]): Promise<DeletedRows> {
  const gone = trx
    .with('gone', (db) =>
      db.deleteFrom('tasks').where(oneOf('id', tasks)).returning(['id', 'run_id']),
    )
    .insertInto('forgotten_tasks')
    .columns(['task_id', 'run_id'])
    .expression((eb) => eb.selectFrom('gone').select(['id', 'run_id']))
    .onConflict((conflict) => conflict.doNothing())
  // Each call gets a new mark, so that a late answer matches no call, and no process requests the answer again.
  const calls = trx
    .updateTable('calls')
    .set({ query_id: nobody, error_message: null })
    .set(({ fn, ...eb }) => ({
      mark: eb.case().when('mark', 'is', null).then(fn<string>('gen_random_uuid')).end(),
    }))
    .where(oneOf('task_id', tasks))
  const bodies = trx
    .deleteFrom('raw_answers')
    .using('calls')
    .whereRef('raw_answers.call_id', '=', 'calls.id')
    .where(oneOf('calls.task_id', tasks))
  return {
    tasks: await touched(trx, gone),
    calls: await touched(trx, calls),
    raw_answers: await touched(trx, bodies),
  }
}

/** Deletes unused queries. Blocks other writers, because planning a list could add a reference to an unused query. */
async function endQueries(trx: Transaction<DB>, queries: readonly string[]): Promise<DeletedRows> {
  await sql`set local lock_timeout = '1s'`.execute(trx)
  await sql`lock table queries in share row exclusive mode`.execute(trx)
  await trx
    .selectFrom('lists as l')
    .where('l.id', 'in', (eb) =>
      eb.selectFrom('list_queries').where(oneOf('query_id', queries)).select('list_id'),
    )
    .select((eb) => {
      const name = eb(eb.val('querymill list '), '||', eb.ref('l.name'))
      return eb.fn('pg_advisory_xact_lock', [lockKey(name)]).as('locked')
    })
    .execute()
  const gone = await removeQueries(trx, await findUnused(trx, queries))
  // Entries for queries with an open task are deleted too, because these queries are in use again.
  await trx.deleteFrom('forgetting_queries').where(oneOf('query_id', queries)).execute()
  return gone
}

async function findUnused(trx: Transaction<DB>, queries: readonly string[]) {
  const unused = await trx
    .selectFrom('forgetting_queries as f')
    .where(oneOf('f.query_id', queries))
    .where((eb) => {
      const answers = eb.selectFrom('searches as s').whereRef('s.query_id', '=', 'f.query_id')
      // Searches run by run, because the unique key starts with the run.
      const runs = eb
        .selectFrom('runs as r')
        .crossJoinLateral((run) =>
          run
            .selectFrom('tasks as t')
            .whereRef('t.run_id', '=', 'r.id')
            .whereRef('t.query_id', '=', 'f.query_id')
            .select('t.id')
            .offset(eb.lit(0))
            .as('t'),
        )
      const lists = eb
        .selectFrom('lists as l')
        .innerJoin('list_queries as m', 'm.list_id', 'l.id')
        .whereRef('m.query_id', '=', 'f.query_id')
        .whereRef('l.id', '<>', 'f.list_id')
      return eb.and([answers, runs, lists].map((rows) => eb.not(eb.exists(rows))))
    })
    .select('f.query_id')
    .execute()
  return unused.map((row) => row.query_id)
}

async function removeQueries(trx: Transaction<DB>, ends: readonly string[]): Promise<DeletedRows> {
  const tables = [...mentionTables.toReversed(), 'expansions', 'alerts'] as const
  const gone = await removeFrom(trx, tables, oneOf('query_id', ends))
  await trx
    .updateTable('expansions')
    .set({ from_query: nobody })
    .where(oneOf('from_query', ends))
    .execute()
  return { ...gone, ...(await removeFrom(trx, ['queries'], oneOf('id', ends))) }
}

// Marker row in `forgetting_words`. After an interruption, only this row shows that the sums must be deleted.
const mark = { kind: 'finished_days', id: nobody } as const

async function markDays(db: Database): Promise<void> {
  await db
    .insertInto('forgetting_words')
    .values(mark)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Deletes all days' sums, because they contain labels and domains. The sums are recomputed from the remaining data. */
async function clearDays(db: Database): Promise<void> {
  await patiently(() => db.deleteFrom('finished_days').execute())
  const eb = expressionBuilder<DB, (typeof sumTables)[number] | 'seen_pages'>()
  const missing = (rows: Expression<unknown>) => eb.not(eb.exists(rows))
  const day = eb.selectFrom('finished_days as d').whereRef('d.id', '=', 'finish_id')
  for (const table of sumTables) await clear(db, table, missing(day))
  const query = eb.selectFrom('queries as q').whereRef('q.id', '=', 'seen_pages.query_id')
  const page = eb.selectFrom('pages as p').whereRef('p.id', '=', 'seen_pages.page_id')
  await clear(db, 'seen_pages', eb.or([missing(query), missing(page)]))
  const { kind, id } = mark
  await db.deleteFrom('forgetting_words').where('kind', '=', kind).where('id', '=', id).execute()
}

const portion = 5000

/** Deletes the rows that meet a condition, in batches. Returns the number of deleted rows. */
async function clear(db: Database, table: keyof DB, where: Expression<SqlBool>): Promise<number> {
  const place = sql.ref<string>('ctid')
  const some = db.selectFrom(table).where(where).limit(portion).select(place.as('place'))
  const change = db
    .deleteFrom(table)
    .where(({ eb, fn }) => eb(place, '=', fn.any(fn<string[]>('array', [some]))))
  for (let sum = 0; ;) {
    const rows = await patiently(() => touched(db, change))
    sum += rows
    if (rows < portion) return sum
  }
}
