// Deletes all data about a list or a query, in steps that can be resumed after an interruption.

import type { Database } from '../../base/database/database.ts'
import { expressionBuilder, type Transaction } from '../../base/database/kysely.ts'
import { lockKey } from '../../base/database/lock.ts'
import type { DB } from '../../base/database/schema.ts'
import {
  aloneIn,
  clearDays,
  endList,
  type Forgettable,
  forgetMembers,
  forgetQueries,
  type List,
  markAlone,
  markDays,
  mentionTables,
  type OnDeleted,
  type QueryIds,
} from './list.ts'
import {
  addRows,
  countRows,
  type DeletedRows,
  patiently,
  readCounts,
  relatedTo,
  tablesOfAnswers,
  touched,
} from './naming.ts'
import { countTexts, forgetTexts, forgetWords } from './texts.ts'

/** Queries to delete with a subject. */
function queriesOf(subject: Forgettable): QueryIds {
  if (subject.kind === 'list') return aloneIn(subject.list.id)
  return expressionBuilder<DB>()
    .selectFrom('queries')
    .where((eb) => eb('id', '=', eb.fn.any(eb.val(subject.ids))))
    .select('id as query_id')
}

/** Counts the rows that would be deleted, by table; changes nothing. */
export async function countSubject(db: Database, subject: Forgettable): Promise<DeletedRows> {
  const queries = queriesOf(subject)
  const mentions = mentionTables.map((table) => {
    const rows = db
      .selectFrom(table)
      .where((eb) =>
        subject.kind === 'list'
          ? eb('list_id', '=', subject.list.id)
          : eb('query_id', 'in', queries),
      )
    return countRows(table, rows)
  })
  const related = subject.kind === 'list' ? [] : countRelated(db, subject.q)
  const facts = await readCounts(db, [...mentions, ...related])
  return addRows(addRows(await countTexts(db, subject), facts), await countQueries(db, queries))
}

/** Counts the answers that name a query as a related search, and their stored bodies. */
function countRelated(db: Database, q: string) {
  const rows = db
    .selectFrom('search_related_searches')
    .where('related_search_id', 'in', relatedTo(q))
  const bodies = db.selectFrom('raw_answers').where('call_id', 'in', rows.select('search_id'))
  return [
    countRows('search_related_searches', rows),
    countRows('raw_answers', bodies),
    countRows('related_searches', relatedTo(q)),
  ]
}

/** Forgets in atomic batches; if interrupted, calling it again continues. */
export async function forgetSubject(
  db: Database,
  subject: Forgettable,
  onDeleted: OnDeleted,
): Promise<DeletedRows> {
  const texts = await forgetTexts(db, subject)
  await markDays(db)
  const facts =
    subject.kind === 'list'
      ? await forgetFactsOfList(db, subject.list, onDeleted)
      : await forgetFactsOfQuery(db, subject, onDeleted)
  const words = await forgetWords(db)
  await clearDays(db)
  return addRows(addRows(texts, facts), words)
}

async function forgetFactsOfList(db: Database, { id }: List, onDeleted: OnDeleted) {
  await markAlone(db, id)
  const gone = await forgetQueries(db, onDeleted)
  return addRows(gone, await forgetMembers(db, id, onDeleted))
}

async function forgetFactsOfQuery(
  db: Database,
  subject: Extract<Forgettable, { kind: 'query' }>,
  onDeleted: OnDeleted,
) {
  const related = await forgetRelated(db, subject.q, onDeleted)
  await db
    .insertInto('forgetting_queries')
    .columns(['query_id'])
    .expression(queriesOf(subject))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return addRows(related, await forgetQueries(db, onDeleted))
}

/** Ends a list whose queries and members are deleted; returns false if the list was read again in the meantime. */
export async function sealList(db: Database, list: List): Promise<boolean> {
  const ended = await endList(db, list)
  // Sums stored in the meantime contain the list's name.
  await clearDays(db)
  return ended
}

/** Continues an interrupted command. */
export async function finishForgetting(db: Database, onDeleted: OnDeleted): Promise<DeletedRows> {
  const gone = addRows(await forgetQueries(db, onDeleted), await forgetWords(db))
  await clearDays(db)
  return gone
}

/** Runs work unless another process is forgetting something; in that case, returns null. */
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

const answersAtOnce = 1000

/**
 * Deletes a query from the related searches of other queries, and deletes the bodies of the answers that contain it.
 */
async function forgetRelated(db: Database, q: string, onDeleted: OnDeleted): Promise<DeletedRows> {
  await db
    .insertInto('forgetting_words')
    .columns(['kind', 'id'])
    .expression((eb) =>
      eb
        .selectFrom(relatedTo(q).as('same'))
        .select([eb.val('related_searches').as('kind'), 'same.id']),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const { last } = await db
    .selectFrom('calls')
    .select((eb) => eb.fn.coalesce(eb.fn.max('id'), eb.lit(0)).as('last'))
    .executeTakeFirstOrThrow()
  let gone: DeletedRows = {}
  for (let after = 0; after < last; after += answersAtOnce) {
    const some = await patiently(() =>
      db.transaction().execute(async (trx) => removeRelated(trx, after)),
    )
    gone = addRows(gone, some)
    onDeleted(gone)
  }
  return gone
}

/** Deletes the related search from the next batch of answers. */
async function removeRelated(trx: Transaction<DB>, after: number): Promise<DeletedRows> {
  const rows = await trx
    .deleteFrom('search_related_searches')
    .where('search_id', '>', after)
    .where('search_id', '<=', after + answersAtOnce)
    .where('related_search_id', 'in', (eb) =>
      eb.selectFrom('forgetting_words').where('kind', '=', 'related_searches').select('id'),
    )
    .returning('search_id')
    .execute()
  const answers = [...new Set(rows.map(({ search_id: id }) => id))]
  const bodies = trx
    .with('gone', (db) =>
      db
        .deleteFrom('raw_answers')
        .where((eb) => eb('call_id', '=', eb.fn.any(eb.val(answers))))
        .returning('call_id'),
    )
    .insertInto('forgotten_bodies')
    .columns(['call_id'])
    .expression((eb) => eb.selectFrom('gone').select('call_id'))
    .onConflict((conflict) => conflict.doNothing())
  return { search_related_searches: rows.length, raw_answers: await touched(trx, bodies) }
}

const ofQueries = ['searches', 'tasks', 'calls', 'expansions'] as const

/** Counts the rows deleted with queries, by table. */
async function countQueries(db: Database, queries: QueryIds): Promise<DeletedRows> {
  const rows = await db
    .with(
      (cte) => cte('gone').materialized(),
      () => queries,
    )
    .with(
      (cte) => cte('answers').materialized(),
      (cte) =>
        cte
          .selectFrom('searches')
          .where('query_id', 'in', cte.selectFrom('gone').select('query_id'))
          .select('id'),
    )
    .with(
      (cte) => cte('paid').materialized(),
      (cte) =>
        cte
          .selectFrom('calls')
          .where('query_id', 'in', cte.selectFrom('gone').select('query_id'))
          .select('id'),
    )
    .with('counts', (cte) => {
      const gone = cte.selectFrom('gone').select('query_id')
      const answers = cte.selectFrom('answers').select('id')
      const paid = cte.selectFrom('paid').select('id')
      return countRows('queries', cte.selectFrom('queries').where('id', 'in', gone)).unionAll([
        ...ofQueries.map((table) =>
          countRows(table, cte.selectFrom(table).where('query_id', 'in', gone)),
        ),
        ...tablesOfAnswers.map((table) =>
          countRows(table, cte.selectFrom(table).where('search_id', 'in', answers)),
        ),
        countRows('raw_answers', cte.selectFrom('raw_answers').where('call_id', 'in', paid)),
      ])
    })
    .selectFrom('counts')
    .select(['name', 'rows'])
    .execute()
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}
