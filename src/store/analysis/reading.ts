import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { sliceSettings, type Slice } from './slice.ts'

/** How the views are read; what is undefined is as the database says. */
export interface ViewReading {
  readonly timeoutMs?: number
  /** Kinds of answers that the views show, as in `live,sandbox`. */
  readonly origins?: string | undefined
  /** True: answers of suspect nights as well. */
  readonly suspects?: boolean
  /** Queries and days that the views are narrowed to. */
  readonly slice?: Slice | undefined
}

/** Settings of a transaction that reads the views. */
export function readingSettings({
  timeoutMs,
  origins,
  suspects,
  slice,
}: ViewReading): Readonly<Record<string, string>> {
  return {
    // Compiling a question costs more than it saves on a few million rows.
    jit: 'off',
    work_mem: '64MB',
    ...(timeoutMs === undefined ? {} : { statement_timeout: String(timeoutMs) }),
    ...(origins === undefined ? {} : { 'querymill.origins': origins }),
    ...(suspects === undefined ? {} : { 'querymill.suspects': suspects ? 'show' : '' }),
    ...(slice === undefined ? {} : sliceSettings(slice)),
  }
}

/** The statement that sets them, until the transaction ends: $1 their names, $2 their values. */
export const setSettings =
  'select set_config(name, value, true) from unnest($1::text[], $2::text[]) as given (name, value)'

/** Prepares a transaction for reading the views. */
export async function prepareReading(trx: Database, reading: ViewReading): Promise<void> {
  const settings = readingSettings(reading)
  await sql`
    select set_config(name, value, true)
    from unnest(${Object.keys(settings)}::text[], ${Object.values(settings)}::text[]) as given (name, value)
  `.execute(trx)
}
