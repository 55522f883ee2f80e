// Loads the query builder.

import { createRequire } from 'node:module'
import type * as Builder from 'kysely'

// The query builder ships as almost 300 modules: loaded one by one they took a quarter of the time in which a command
// starts. Its CommonJS build, loaded by `require`, is there at once.
const builder = createRequire(import.meta.url)('kysely') as typeof Builder

export const { CompiledQuery, Kysely, Migrator, PostgresDialect, sql } = builder
export type * from 'kysely'
export type CompiledQuery<T = unknown> = Builder.CompiledQuery<T>
export type Kysely<T> = Builder.Kysely<T>
