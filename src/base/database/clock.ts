// SQL expressions for the database clock. Unlike `now()`, the clock keeps running during a transaction.

import { type Expression, sql } from './kysely.ts'

export const clock = sql<Date>`clock_timestamp()`

export function clockIn(ms: number) {
  return sql<Date>`clock_timestamp() + ${ms} * interval '1 millisecond'`
}

export function clockBefore(ms: number) {
  return sql<Date>`clock_timestamp() - ${ms} * interval '1 millisecond'`
}

/** Formats a time as text in UTC, with seconds. */
export function utcText<T extends Date | null>(moment: Expression<T>) {
  return sql<T extends Date ? string : null>`
    to_char(${moment} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}

type Seconds<T> = T extends Date ? number : null

export function secondsOf<T extends Date | null>(moment: Expression<T>) {
  return sql<Seconds<T>>`extract(epoch from ${moment})::float8`
}

export function secondsBetween<A extends Date | null, B extends Date | null>(
  from: Expression<A>,
  to: Expression<B>,
) {
  return sql<Seconds<A | B>>`extract(epoch from ${to} - ${from})::float8`
}
