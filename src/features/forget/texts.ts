// Deletes texts outside of answers, and unused dictionary entries.

import { clock } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { dictionaries, type DictionaryTable, dictionaryTables } from '../../base/database/facts.ts'
import {
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  sql,
  type SqlBool,
  type UpdateObject,
} from '../../base/database/kysely.ts'
import type { DB, Json } from '../../base/database/schema.ts'
import { only } from '../../base/database/sql-file.ts'
import { pause } from '../../base/waiting.ts'
import { aloneIn, type Forgettable, type List } from './subject.ts'
import { addRows, type DeletedRows, mentions, touched, wordPattern } from './naming.ts'

/** Replaces a text that must not be empty. */
const blank = '(forgotten)'

interface Place {
  readonly table: keyof DB
  readonly where: Expression<SqlBool>
  /** Assignments; null deletes the row. */
  readonly set: object | null
}

/** Describes a place in the database. The compiler checks that the columns belong to the table. */
function placeIn<T extends keyof DB>(
  table: T,
  where: (eb: ExpressionBuilder<DB, T>) => Expression<SqlBool>,
  set: ((eb: ExpressionBuilder<DB, T>) => UpdateObject<DB, T>) | null,
): Place {
  const eb = expressionBuilder<DB, T>()
  return { table, where: where(eb), set: set?.(eb) ?? null }
}

/** A place in the database whose text is replaced as a whole. */
function blanked<T extends keyof DB>(
  table: T,
  column: Extract<keyof DB[T], string>,
  pattern: string,
): Place {
  const text = sql.ref<string>(column)
  const where = expressionBuilder<DB, T>()(text, '~*', pattern)
  return { table, where, set: { [column]: blank } }
}

/** All places outside of answers that contain texts written by people and programs. */
function placesOf(subject: Forgettable): readonly Place[] {
  if (subject.kind === 'query') {
    const pattern = wordPattern(subject.q)
    return [...toldOfNights(pattern), ...toldOfAnswers(pattern)]
  }
  const { list } = subject
  const alerts = placeIn('alerts', (eb) => eb('query_id', 'in', aloneIn(list.id)), null)
  // A list's name may be any word, so only texts about lists are searched for it.
  return [alerts, ...toldOfNights(wordPattern(list.name)), ...ofList(list)]
}

/** Assignments that clear a notice and prevent it from being sent. */
function untold(eb: ExpressionBuilder<DB, 'notices'>): UpdateObject<DB, 'notices'> {
  const givenUp = eb.fn.coalesce('given_up_at', clock)
  return {
    said: blank,
    fields: '{}',
    problem: null,
    given_up_at: eb
      .case()
      .when('told_at', 'is', null)
      .then(givenUp)
      .else(eb.ref('given_up_at'))
      .end(),
  }
}

/** Texts that may mention lists and queries. */
function toldOfNights(pattern: string): readonly Place[] {
  return [
    placeIn(
      'notices',
      (eb) => mentions(eb, ['subject', 'said', 'fields', 'problem'], pattern),
      (eb) => ({
        ...untold(eb),
        subject: eb
          .case()
          .when('subject', '~*', pattern)
          .then(eb(eb.val('forgotten '), '||', eb.ref('id')))
          .else(eb.ref('subject'))
          .end(),
      }),
    ),
    blanked('nights', 'note', pattern),
    blanked('quarantine', 'reason', pattern),
    blanked('trust_marks', 'reason', pattern),
    placeIn(
      'notes.annotations',
      (eb) => mentions(eb, ['text', 'tag'], pattern),
      (eb) => ({
        text: blank,
        tag: eb.case().when('tag', '~*', pattern).then('*').else(eb.ref('tag')).end(),
      }),
    ),
  ]
}

/** Texts that may mention queries. */
function toldOfAnswers(pattern: string): readonly Place[] {
  const named = ['rule', 'subject', 'list', 'tag', 'domain', 'other_domain', 'feature'] as const
  return [
    placeIn('alerts', (eb) => mentions(eb, [...named, 'said', 'question'], pattern), null),
    blanked('stops', 'detail', pattern),
    placeIn(
      'rejected_lines',
      (eb) => mentions(eb, ['content', 'reason'], pattern),
      () => ({ content: '', reason: blank }),
    ),
    blanked('cadences', 'why', pattern),
    blanked('tasks', 'error_message', pattern),
    blanked('calls', 'error_message', pattern),
    blanked('searches', 'parse_error', pattern),
  ]
}

/** Rows about a list, by name or id. */
function ofList({ id, name }: List): readonly Place[] {
  const all = expressionBuilder<DB>()
  const runs = all.selectFrom('runs').select('runs.id').where('runs.list_id', '=', id)
  const schedules = all
    .selectFrom('schedules')
    .select('schedules.name')
    .where('schedules.list', '=', name)
  const label = `list=${name}`
  return [
    placeIn(
      'notices',
      (eb) => {
        const said = eb(eb.ref('said'), '||', eb.cast<string>('fields', 'text'))
        const queries = eb
          .selectFrom(aloneIn(id).as('alone'))
          .innerJoin('queries', 'queries.id', 'alone.query_id')
          .where(({ fn }) => fn<number>('strpos', [said, 'queries.q']), '>', 0)
        return eb.and([eb('kind', 'like', 'rank%'), eb.exists(queries)])
      },
      untold,
    ),
    placeIn(
      'rejected_lines',
      (eb) => eb('run_id', 'in', runs),
      () => ({ content: '', reason: blank }),
    ),
    placeIn(
      'alerts',
      (eb) => eb.or([eb('list', '=', name), eb('tag', '=', label), eb('run_id', 'in', runs)]),
      null,
    ),
    placeIn('alert_rules', (eb) => eb.or([eb('list', '=', name), eb('tag', '=', label)]), null),
    placeIn('notes.annotations', (eb) => eb('tag', '=', label), null),
    placeIn(
      'nights',
      (eb) => eb.or([eb('run_id', 'in', runs), eb('schedule', 'in', schedules)]),
      null,
    ),
    placeIn(
      'forecast_steps',
      (eb) => eb.or([eb('list', '=', name), eb('name', 'in', schedules)]),
      null,
    ),
    placeIn('schedules', (eb) => eb('list', '=', name), null),
  ]
}

/** Changes or deletes all texts outside of answers. Rows that triggers store about changed lines are deleted last. */
export async function forgetTexts(db: Database, subject: Forgettable): Promise<DeletedRows> {
  let gone: DeletedRows = {}
  for (const { table, where, set } of placesOf(subject)) {
    const change =
      set === null ? db.deleteFrom(table).where(where) : db.updateTable(table).set(set).where(where)
    gone = addRows(gone, { [table]: await touched(db, change) })
  }
  return gone
}

/** Counts the rows that `forgetTexts` would change. A row that matches for several reasons counts only once. */
export async function countTexts(db: Database, subject: Forgettable): Promise<DeletedRows> {
  const places = placesOf(subject)
  const gone: Record<string, number> = {}
  for (const table of new Set(places.map((place) => place.table))) {
    const reasons = places.filter((place) => place.table === table).map(({ where }) => where)
    const { rows } = await db
      .selectFrom(table)
      .where((eb) => eb.or(reasons))
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    gone[table] = rows
  }
  return gone
}

const portion = 2000
const lookAgainMs = 20

/**
 * Deletes recorded dictionary entries that are no longer used. A worker may concurrently store an answer that refers to
 * such a row, because it saw the row and so did not insert it. Therefore a deleted row is kept until all concurrent
 * writers have ended, and is restored if it is used by then.
 */
export async function forgetWords(db: Database): Promise<DeletedRows> {
  const gone: Record<string, number> = {}
  // Hosts come last, because pages refer to them.
  const order = [...dictionaryTables.filter((kind) => kind !== 'domains'), 'domains'] as const
  for (const kind of order) {
    const words = db.deleteFrom('forgetting_words as w').where('w.kind', '=', kind)
    await words.where('w.held', 'is', null).where(isNamed(kind)).execute()
    await takeOut(db, kind)
    await writersEnded(db)
    await putBack(db, kind)
    gone[kind] = await touched(db, words.where('w.held', 'is not', null))
  }
  return gone
}

/** True for an entry `w` that an answer's row or a page refers to. */
function isNamed(kind: DictionaryTable): Expression<SqlBool> {
  const eb = expressionBuilder<DB & { w: DB['forgetting_words'] }, 'w'>()
  return eb.or(
    dictionaries[kind].map(([table, column]) => {
      const id = sql.ref<string>(column)
      return eb('w.id', 'in', eb.selectFrom(table).where(id, 'is not', null).select(id.as('id')))
    }),
  )
}

async function takeOut(db: Database, kind: DictionaryTable): Promise<void> {
  const change = db
    .with(
      (cte) => cte('chosen').materialized(),
      (cte) =>
        cte
          .selectFrom('forgetting_words')
          .where('kind', '=', kind)
          .where('held', 'is', null)
          .orderBy('id')
          .limit(portion)
          .select('id as word'),
    )
    .with('taken', (cte) =>
      cte
        .deleteFrom(kind)
        .using('chosen')
        .whereRef('id', '=', 'chosen.word')
        .returning((eb) => ['id', eb.fn<Json>('to_jsonb', [eb.table(kind)]).as('held')]),
    )
    .updateTable('forgetting_words as w')
    .from('chosen')
    .leftJoin('taken', 'taken.id', 'chosen.word')
    .set((eb) => ({ held: eb.fn.coalesce('taken.held', eb.cast<Json>(eb.val('null'), 'jsonb')) }))
    .where('w.kind', '=', kind)
    .whereRef('w.id', '=', 'chosen.word')
  while ((await touched(db, change)) === portion);
}

/** Transactions of this database that write. Those of other databases of the server refer to none of its rows. */
const writers = sql<{ writer: string }>`
  select l.transactionid::text as writer
  from pg_locks l
  join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'transactionid' and l.granted and l.mode = 'ExclusiveLock' and a.datname = current_database()
  union all
  select transaction::text from pg_prepared_xacts where database = current_database()`

/** Waits for the end of all writing transactions that started before now. */
async function writersEnded(db: Database): Promise<void> {
  const read = async () => (await writers.execute(db)).rows.map(({ writer }) => writer)
  let left = await read()
  while (left.length > 0) {
    await pause(lookAgainMs)
    const now = new Set(await read())
    left = left.filter((writer) => now.has(writer))
  }
}

async function putBack(db: Database, kind: DictionaryTable): Promise<void> {
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
