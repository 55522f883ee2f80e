// Loads the statements in `sql/statements`, and converts their results.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../errors.ts'
import { root } from '../root.ts'
import type { Database } from './database.ts'
import { CompiledQuery, sql } from './kysely.ts'

type StatementFile = ReturnType<typeof nameParameters>

const files = new Map<string, StatementFile>()

/**
 * Builds a kysely statement from a file in `sql/statements`. Parameters are written as `:name`, and names of temporary
 * tables as `:"name"`. A missing or extra value is an error.
 */
export function statement<Row = unknown>(
  name: string,
  parameters: Parameters,
  tables?: Readonly<Record<string, string>>,
): CompiledQuery<Row> {
  const file = readStatement(name)
  const path = `sql/statements/${name}.sql`
  // Statements on the hot path use no temporary tables, so no table names need to be replaced.
  if (tables === undefined) return bindParameters(path, file, parameters)
  const text = file.text.replaceAll(/:"([a-z_]+)"/g, (_, table: string) => `"${tables[table]}"`)
  return bindParameters(path, { ...file, text }, parameters)
}

type Parameters = Readonly<Record<string, unknown>>

export async function readRows<Row>(
  db: Database,
  name: string,
  parameters: Parameters,
): Promise<readonly Row[]> {
  const { rows } = await db.executeQuery(statement<Row>(name, parameters))
  return rows
}

export function bindParameters<Row>(
  path: string,
  { text, names }: StatementFile,
  parameters: Parameters,
): CompiledQuery<Row> {
  const missing = names.filter((each) => parameters[each] === undefined)
  const unused = Object.keys(parameters).filter((each) => !names.includes(each))
  if (missing.length + unused.length > 0) {
    throw new Error(
      `expected a value for each parameter of ${path}, got none for [${missing.join(', ')}], and unknown parameters [${unused.join(', ')}]`,
    )
  }
  return CompiledQuery.raw(
    text,
    names.map((each) => parameters[each]),
  )
}

function readStatement(name: string): StatementFile {
  const known = files.get(name)
  if (known !== undefined) return known
  const file = nameParameters(readFileSync(join(root, 'sql', 'statements', `${name}.sql`), 'utf8'))
  files.set(name, file)
  return file
}

// Matches a name after a single colon, outside comments, strings and casts.
const parameter = /--.*|'(?:[^']|'')*'|::|:([a-z_]+)/g

/** Replaces a statement's named parameters with `$1`, `$2` and so on. A repeated name keeps its number. */
export function nameParameters(sqlText: string) {
  const names: string[] = []
  const text = sqlText.replace(parameter, (found: string, name: string | undefined) => {
    if (name === undefined) return found
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { text, names }
}

/** Returns the row from a statement that always returns exactly one row. */
export function only<T>(rows: readonly T[]): T {
  const [row] = rows
  if (row === undefined) throw new Error('expected a row, got none')
  return row
}

const queryCanceled = '57014'

/** Reads data in one transaction. Returns null if a statement exceeds the time limit. */
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

/** Awaits a read, or returns null if the server stopped the read at its time limit. */
export async function inTime<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (codeOf(error) === queryCanceled) return null
    throw error
  }
}
