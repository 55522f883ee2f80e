// Finds and deletes the contents of answers: their rows, and the dictionary entries that only these rows refer to.

import type { Database } from '../../base/database/database.ts'
import { factTables } from '../../base/database/facts.ts'
import {
  type AnyColumn,
  type Compilable,
  type Expression,
  expressionBuilder,
  sql,
  type SqlBool,
  type Transaction,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { statement } from '../../base/database/sql-file.ts'
import { troubleOf } from '../../base/database/trouble.ts'
import { pause } from '../../base/waiting.ts'

/** True for a row whose column holds one of the given values. The list of values may be empty. */
export function oneOf(
  column: AnyColumn<DB, keyof DB> | `${string}.${AnyColumn<DB, keyof DB>}`,
  values: readonly (string | number)[],
): Expression<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} = any(${values})`
}

export function relatedTo(q: string) {
  return expressionBuilder<DB>()
    .selectFrom('related_searches')
    .where((eb) => eb(eb.fn('lower', ['q']), '=', eb.fn('lower', [eb.val(q)])))
    .select('related_searches.id')
}

/** Tables whose rows belong to an answer and are deleted with it. */
export const tablesOfAnswers = [...factTables, 'quarantine', 'trust_marks'] as const

/** Deletes answers and their bodies. Records the dictionary entries that may now be unused, to delete them later. */
export async function removeAnswers(trx: Transaction<DB>, answers: readonly number[]) {
  await trx.executeQuery(statement('note_words', { answers }))
  await trx
    .deleteFrom('seen_pages')
    .using('organic_results as o')
    .innerJoin('searches as s', 's.id', 'o.search_id')
    .whereRef('seen_pages.page_id', '=', 'o.page_id')
    .whereRef('seen_pages.query_id', '=', 's.query_id')
    .where(oneOf('o.search_id', answers))
    .execute()
  const gone: Record<string, number> = {}
  for (const table of tablesOfAnswers) {
    gone[table] = await touched(trx, trx.deleteFrom(table).where(oneOf('search_id', answers)))
  }
  const bodies = trx.deleteFrom('raw_answers').where(oneOf('call_id', answers))
  const searches = trx.deleteFrom('searches').where(oneOf('id', answers))
  return {
    ...gone,
    raw_answers: await touched(trx, bodies),
    searches: await touched(trx, searches),
  }
}

/** Number of rows that were deleted or cleared, by table. */
export type DeletedRows = Readonly<Record<string, number>>

export function sumRows(counts: readonly DeletedRows[]): DeletedRows {
  const sum: Record<string, number> = {}
  for (const [table, rows] of counts.flatMap((one) => Object.entries(one))) {
    sum[table] = (sum[table] ?? 0) + rows
  }
  return sum
}

/** Runs a statement; returns the number of affected rows. */
export async function touched(db: Database, change: Compilable): Promise<number> {
  const { numAffectedRows } = await db.executeQuery(change)
  return Number(numAffectedRows ?? 0)
}

const waitMs = 250
/** Together, the retries must last longer than it takes to plan a large list, which can be minutes. */
const mostTries = 1_200

/** Runs a batch, and retries it after a conflict with another writer of the same rows or with list planning. */
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
