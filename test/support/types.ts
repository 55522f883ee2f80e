import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

// The same conversions as the parsers in src/base/database/database.ts.
const parsers = [
  '--numeric-parser=number',
  '--date-parser=string',
  '--type-mapping={"int8":"number"}',
]

/** Tables that only statements in SQL read and write. */
const onlyInSql = [
  ...['answer_fields', 'ctr_curve', 'first_tens', 'loaded_answers', 'loaded_days'],
  ...['statement_lines', 'statement_marks'],
]

/** The types of all tables that the query builder reads and writes; views are read only through SQL. */
export async function generateTypes(url: string): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('kysely-codegen')
  const program = join(dirname(entry), 'cli', 'bin.js')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      program,
      '--dialect=postgres',
      `--url=${url}`,
      '--print',
      '--log-level=silent',
      '--include-pattern={public,notes}.*',
      `--exclude-pattern=public.{${onlyInSql.join(',')}}`,
      ...parsers,
    ],
    { maxBuffer: 50_000_000 },
  )
  return stdout.replaceAll(/\/\*\*\n +\* (.*)\n +\*\//g, '/** $1 */')
}
