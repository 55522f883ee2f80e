// Deletes text that is stored outside of answers, and unused dictionary entries.

import { clock } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { dictionaries, type DictionaryTable, dictionaryTables } from '../../base/database/facts.ts'
import {
  type Compilable,
  countOf,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type ReferenceExpression,
  sql,
  type SqlBool,
  type Transaction,
  type UpdateObject,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { pause } from '../../base/waiting.ts'
import { aloneIn, type Forgettable, type List } from './subject.ts'

/** Builds a case-insensitive Postgres regular expression that finds a text as whole words. */
function wordPattern(text: string): string {
  const plain = text.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')
  return `(?<![[:alnum:]])${plain}(?![[:alnum:]])`
}

/** Placeholder for a deleted text in a column that must not be empty. */
const blank = '(forgotten)'
const emptied = () => ({ content: '', reason: blank })

interface Place {
  readonly table: keyof DB
  readonly where: Expression<SqlBool>
  readonly set: object | null
}

/** A place in the database that may contain the text. The compiler checks that the columns belong to the table. */
function placeIn<T extends keyof DB>(
  table: T,
  where: (eb: ExpressionBuilder<DB, T>) => Expression<SqlBool>,
  set: ((eb: ExpressionBuilder<DB, T>) => UpdateObject<DB, T>) | null,
): Place {
  const eb = expressionBuilder<DB, T>()
  return { table, where: where(eb), set: set?.(eb) ?? null }
}

/** Describes a column whose matching texts are replaced completely. */
function blanked<T extends keyof DB>(
  table: T,
  column: Extract<keyof DB[T], string>,
  pattern: string,
): Place {
  const text = sql.ref<string>(column)
  const where = expressionBuilder<DB, T>()(text, '~*', pattern)
  return { table, where, set: { [column]: blank } }
}

/** True for a row in which one of these columns matches the pattern. */
function mentions<T extends keyof DB>(
  eb: ExpressionBuilder<DB, T>,
  columns: readonly ReferenceExpression<DB, T>[],
  pattern: string,
): Expression<SqlBool> {
  return eb(eb.fn<string>('concat_ws', [eb.val(' '), ...columns]), '~*', pattern)
}

/** All columns with text from people or programs, except the columns of answers. */
function placesOf(subject: Forgettable): readonly Place[] {
  if (subject.kind === 'query') {
    const pattern = wordPattern(subject.q)
    return [...toldOfNights(pattern), ...toldOfAnswers(pattern)]
  }
  const { list } = subject
  const alerts = placeIn('alerts', (eb) => eb('query_id', 'in', aloneIn(list.id)), null)
  // A list name may be a common word, so it is searched for only in texts about lists.
  return [alerts, ...toldOfNights(wordPattern(list.name)), ...ofList(list)]
}

/** Update that clears a notice and prevents its delivery. */
function untold(eb: ExpressionBuilder<DB, 'notices'>): UpdateObject<DB, 'notices'> {
  const givenUp = eb
    .case()
    .when('told_at', 'is', null)
    .then(eb.fn.coalesce('given_up_at', clock))
    .else(eb.ref('given_up_at'))
  return { said: blank, fields: '{}', problem: null, given_up_at: givenUp.end() }
}

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

function toldOfAnswers(pattern: string): readonly Place[] {
  const named = ['rule', 'subject', 'list', 'tag', 'domain', 'other_domain', 'feature'] as const
  return [
    placeIn('alerts', (eb) => mentions(eb, [...named, 'said', 'question'], pattern), null),
    blanked('stops', 'detail', pattern),
    placeIn('rejected_lines', (eb) => mentions(eb, ['content', 'reason'], pattern), emptied),
    blanked('cadences', 'why', pattern),
    blanked('tasks', 'error_message', pattern),
    blanked('calls', 'error_message', pattern),
    blanked('searches', 'parse_error', pattern),
  ]
}

function ofList({ id, name }: List): readonly Place[] {
  const all = expressionBuilder<DB>()
  const runs = all.selectFrom('runs').select('runs.id').where('runs.list_id', '=', id)
  const schedules = all.selectFrom('schedules').select('schedules.name').where('list', '=', name)
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
    placeIn('rejected_lines', (eb) => eb('run_id', 'in', runs), emptied),
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

/** Changes or deletes texts stored outside answers. Rows that triggers store during these changes are deleted last. */
export async function forgetTexts(db: Database, subject: Forgettable): Promise<DeletedRows> {
  let gone: DeletedRows = {}
  for (const { table, where, set } of placesOf(subject)) {
    const change =
      set === null ? db.deleteFrom(table).where(where) : db.updateTable(table).set(set).where(where)
    gone = sumRows([gone, { [table]: await touched(db, change) }])
  }
  return gone
}

/** Counts the rows that `forgetTexts` would change. A row that matches for several reasons counts only once. */
export async function countTexts(db: Database, subject: Forgettable): Promise<DeletedRows> {
  const places = placesOf(subject)
  const gone: Record<string, number> = {}
  for (const table of new Set(places.map((place) => place.table))) {
    const reasons = places.filter((place) => place.table === table).map(({ where }) => where)
    const rows = db.selectFrom(table).where((eb) => eb.or(reasons))
    gone[table] = await countOf(db, rows)
  }
  return gone
}

/** Deletes recorded dictionary entries that are no longer used. */
export async function forgetWords(db: Database): Promise<DeletedRows> {
  const gone: Record<string, number> = {}
  // Domains come last, because pages refer to domains.
  const order = [...dictionaryTables.filter((kind) => kind !== 'domains'), 'domains'] as const
  for (const kind of order) {
    gone[kind] = await patiently(() => db.transaction().execute((trx) => forgetKind(trx, kind)))
  }
  return gone
}

/** Deletes the recorded entries that nothing refers to. Blocks other writers, because they might add a reference. */
async function forgetKind(trx: Transaction<DB>, kind: DictionaryTable): Promise<number> {
  await sql`set local lock_timeout = '1s'`.execute(trx)
  await sql`lock table ${sql.table(kind)} in share row exclusive mode`.execute(trx)
  const words = trx.deleteFrom('forgetting_words').where('kind', '=', kind)
  for (const [table, column] of dictionaries[kind]) {
    const id = sql.ref<string>(column)
    await words.where('id', 'in', trx.selectFrom(table).select(id.as('id'))).execute()
  }
  const unused = trx.selectFrom('forgetting_words').where('kind', '=', kind).select('id')
  const gone = await touched(trx, trx.deleteFrom(kind).where('id', 'in', unused))
  await words.execute()
  return gone
}

export type DeletedRows = Readonly<Record<string, number>>

export function sumRows(counts: readonly DeletedRows[]): DeletedRows {
  const sum: Record<string, number> = {}
  for (const [table, rows] of counts.flatMap((one) => Object.entries(one))) {
    sum[table] = (sum[table] ?? 0) + rows
  }
  return sum
}

export async function touched(db: Database, change: Compilable): Promise<number> {
  const { numAffectedRows } = await db.executeQuery(change)
  return Number(numAffectedRows ?? 0)
}

const waitMs = 250
/** Enough tries to wait while a large list is planned, which can take minutes. */
const mostTries = 1_200

/** Runs a batch, and retries it after conflicts with list planning or with other writes to the same rows. */
export async function patiently<T>(change: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change()
    } catch (error) {
      if (tries === mostTries || troubleOf(error) !== 'conflict') throw error
    }
    await pause(waitMs)
  }
}
