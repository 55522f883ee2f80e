// Finds and deletes contents of answers: the rows, and dictionary entries referenced only by them.

import type { Database } from '../../base/database/database.ts'
import { factTables } from '../../base/database/facts.ts'
import {
  type AliasableExpression,
  type Compilable,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type ReferenceExpression,
  type SqlBool,
  type Transaction,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { statement } from '../../base/database/sql-file.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { pause } from '../../base/waiting.ts'

/** Pattern for a typed text, a case-insensitive regular expression of Postgres; the text must stand alone. */
export function wordPattern(text: string): string {
  const plain = text.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')
  return `(?<![[:alnum:]])${plain}(?![[:alnum:]])`
}

/** True for a row in which one of these columns matches the pattern. */
export function mentions<T extends keyof DB>(
  eb: ExpressionBuilder<DB, T>,
  columns: readonly ReferenceExpression<DB, T>[],
  pattern: string,
): Expression<SqlBool> {
  return eb(eb.fn<string>('concat_ws', [eb.val(' '), ...columns]), '~*', pattern)
}

/** Related searches with the same text. */
export function relatedTo(q: string) {
  return expressionBuilder<DB>()
    .selectFrom('related_searches')
    .where((eb) => eb(eb.fn('lower', ['q']), '=', eb.fn('lower', [eb.val(q)])))
    .select('related_searches.id')
}

/** A count with the name of its table. */
export function countRows(name: string, rows: AliasableExpression<object>) {
  return expressionBuilder<DB>()
    .selectFrom(rows.as('r'))
    .select((eb) => [eb.val(name).as('name'), eb.fn.countAll<number>().as('rows')])
}

/** Reads several counts in one statement. */
export async function readCounts(
  db: Database,
  counts: readonly ReturnType<typeof countRows>[],
): Promise<DeletedRows> {
  const rows = await db
    .with('counts', () => counts.reduce((all, one) => all.unionAll(one)))
    .selectFrom('counts')
    .select(['name', 'rows'])
    .execute()
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]))
}

/** Tables whose rows belong to an answer and are deleted with it. */
export const tablesOfAnswers = [...factTables, 'quarantine', 'trust_marks'] as const

/** Deletes answers with their bodies. Dictionary entries they refer to are recorded, to be deleted once unused. */
export async function removeAnswers(
  trx: Transaction<DB>,
  answers: readonly number[],
): Promise<DeletedRows> {
  await trx.executeQuery(statement('note_words', { answers }))
  await trx
    .deleteFrom('seen_pages')
    .using('organic_results as o')
    .innerJoin('searches as s', 's.id', 'o.search_id')
    .whereRef('seen_pages.page_id', '=', 'o.page_id')
    .whereRef('seen_pages.query_id', '=', 's.query_id')
    .where((eb) => eb('o.search_id', '=', eb.fn.any(eb.val(answers))))
    .execute()
  const gone: Record<string, number> = {}
  for (const table of tablesOfAnswers) {
    const rows = trx
      .deleteFrom(table)
      .where((eb) => eb('search_id', '=', eb.fn.any(eb.val(answers))))
    gone[table] = await touched(trx, rows)
  }
  const bodies = trx.deleteFrom('raw_answers')
  const searches = trx.deleteFrom('searches')
  return {
    ...gone,
    raw_answers: await touched(
      trx,
      bodies.where((eb) => eb('call_id', '=', eb.fn.any(eb.val(answers)))),
    ),
    searches: await touched(
      trx,
      searches.where((eb) => eb('id', '=', eb.fn.any(eb.val(answers)))),
    ),
  }
}

/** Number of rows deleted or cleared, by table. */
export type DeletedRows = Readonly<Record<string, number>>

/** Adds up two counts of deleted rows, table by table. */
export function addRows(one: DeletedRows, other: DeletedRows): DeletedRows {
  const sum: Record<string, number> = { ...one }
  for (const [table, rows] of Object.entries(other)) sum[table] = (sum[table] ?? 0) + rows
  return sum
}

/** Runs a change; returns the number of rows affected. */
export async function touched(db: Database, change: Compilable): Promise<number> {
  const { numAffectedRows } = await db.executeQuery(change)
  return Number(numAffectedRows ?? 0)
}

const waitMs = 250
/** Planning a large list takes several minutes, and the retries must last longer. */
const mostTries = 1_200

/** Retries a batch that conflicted with another writer of the same rows, or with the planning of a list. */
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
