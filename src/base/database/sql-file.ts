// Runs statements of files, and reads with a time limit.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../errors.ts'
import { root } from '../root.ts'
import type { Database } from './database.ts'
import { CompiledQuery, sql } from './kysely.ts'

const texts = new Map<string, string>()

/** A statement of `sql/statements` with its parameters, to be run through kysely. */
export function statement<Row = unknown>(
  name: string,
  parameters: readonly unknown[],
): CompiledQuery<Row> {
  let text = texts.get(name)
  if (text === undefined) {
    text = readFileSync(join(root, 'sql', 'statements', `${name}.sql`), 'utf8')
    texts.set(name, text)
  }
  return CompiledQuery.raw(text, [...parameters])
}

/** The row of a statement that always gives one. */
export function only<T>(rows: readonly T[]): T {
  const [row] = rows
  if (row === undefined) throw new Error('expected a row, got none')
  return row
}

const queryCanceled = '57014'

/** Runs reads in one transaction; null when a statement takes longer than the limit. */
export async function withinTime<T>(
  db: Database,
  ms: number,
  ask: (trx: Database) => Promise<T>,
): Promise<T | null> {
  const asked = db.transaction().execute(async (trx) => {
    await sql`select set_config('statement_timeout', ${String(ms)}, true)`.execute(trx)
    return ask(trx)
  })
  return inTime(asked)
}

/** Awaits a read; null when the server stopped it at its time limit. */
export async function inTime<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (codeOf(error) === queryCanceled) return null
    throw error
  }
}
