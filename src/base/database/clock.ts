// SQL for the clock of the database, which goes on while a transaction lasts.

import { type Expression, sql } from './kysely.ts'

/** This moment. */
export const clock = sql<Date>`clock_timestamp()`

/** So many milliseconds from now on. */
export function clockIn(ms: number) {
  return sql<Date>`clock_timestamp() + ${ms} * interval '1 millisecond'`
}

/** So many milliseconds before now. */
export function clockBefore(ms: number) {
  return sql<Date>`clock_timestamp() - ${ms} * interval '1 millisecond'`
}

/** A moment as text, to the second and in UTC. */
export function utcText<T extends Date | null>(moment: Expression<T>) {
  return sql<T extends Date ? string : null>`
    to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}
