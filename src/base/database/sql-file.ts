// Loads the statements of `sql/statements`, and gives what statements bring in the form that is expected.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../errors.ts'
import { root } from '../root.ts'
import type { Database } from './database.ts'
import { CompiledQuery, sql } from './kysely.ts'

interface StatementFile {
  /** With `$1`, `$2` and so on in place of the names. */
  readonly text: string
  readonly names: readonly string[]
}

const files = new Map<string, StatementFile>()

/**
 * A statement of `sql/statements`, to be run through kysely. Its parameters are named in the text, as `:name`; a name
 * without a value and a value without a name are errors.
 */
export function statement<Row = unknown>(
  name: string,
  parameters: Readonly<Record<string, unknown>>,
): CompiledQuery<Row> {
  const { text, names } = readStatement(name)
  const missing = names.filter((each) => parameters[each] === undefined)
  const unused = Object.keys(parameters).filter((each) => !names.includes(each))
  if (missing.length + unused.length > 0) {
    throw new Error(
      `expected the parameters of sql/statements/${name}.sql, got none for [${missing.join(', ')}] and did not expect [${unused.join(', ')}]`,
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

// A name behind one colon; comments, texts and casts hold none.
const parameter = /--.*|'(?:[^']|'')*'|::|:([a-z_]+)/g

/** Numbers the named parameters of a statement: the same name is the same parameter. */
export function nameParameters(sqlText: string): StatementFile {
  const names: string[] = []
  const text = sqlText.replace(parameter, (found: string, name: string | undefined) => {
    if (name === undefined) return found
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { text, names }
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
