import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CompiledQuery } from './kysely.ts'
import { root } from '../shared/root.ts'

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
