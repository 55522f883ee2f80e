import { sql, type RawBuilder } from '../kysely.ts'

/** Promises by their names: each statement counts what breaks one; a mill that keeps it finds nothing. */
export type Promises = Readonly<Record<string, RawBuilder<{ violations: number }>>>

/** A question that finds every row that breaks a promise, as what follows `select count(*)`. */
export function counting(from: RawBuilder<unknown>): RawBuilder<{ violations: number }> {
  return sql<{ violations: number }>`select count(*) as violations ${from}`
}
