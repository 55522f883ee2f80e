// Loads the query builder.

import { createRequire } from 'node:module'
import type * as Builder from 'kysely'
import type { DB } from './schema.ts'

// Loading the query builder's 300 or so ES modules took a quarter of a command's startup time. The CommonJS build
// loads much faster.
const builder = createRequire(import.meta.url)('kysely') as typeof Builder

export const { CompiledQuery, expressionBuilder, Kysely, Migrator, PostgresDialect, sql } = builder
export type * from 'kysely'
export type CompiledQuery<T = unknown> = Builder.CompiledQuery<T>
export type Kysely<T> = Builder.Kysely<T>

export async function countOf(
  db: Builder.Kysely<DB>,
  rows: Builder.AliasableExpression<object>,
): Promise<number> {
  const { count } = await db
    .selectFrom(rows.as('rows'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}
