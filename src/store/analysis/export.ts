import { sql } from '../kysely.ts'
import { Misuse, unhandled } from '../../shared/errors.ts'
import type { Database } from '../database.ts'

/** Finds a table or view by the name that a person typed; gives it as SQL needs it. */
export async function findRelation(db: Database, typed: string): Promise<string> {
  const { rows } = await sql<{ name: string; quoted: string }>`
    select
      nspname || '.' || relname as name,
      quote_ident(nspname) || '.' || quote_ident(relname) as quoted
    from pg_class
    join pg_namespace on pg_namespace.oid = relnamespace
    where nspname in ('analysis', 'public', 'notes')
      and relkind in ('r', 'v', 'm', 'p')
    order by nspname, relname
  `.execute(db)
  const wanted = typed.trim().toLowerCase()
  // Views of analysts first: no table of ours has the name of one.
  const found = rows.find(({ name }) => name === wanted || name.split('.')[1] === wanted)
  if (found !== undefined) return found.quoted
  const near = rows
    .map(({ name }) => name)
    .filter((name) => name.includes(wanted.slice(0, 4)))
    .slice(0, 5)
  throw new Misuse(
    `expected the name of a table or view, got ${JSON.stringify(typed)}; ${
      near.length === 0 ? 'docs/schema.md lists them' : `perhaps ${near.join(', ')}`
    }`,
  )
}

/** All rows of a relation, column by column as text, or each as one line of JSON. */
export function selectRows(relation: string, format: 'csv' | 'ndjson'): string {
  switch (format) {
    case 'csv':
      return `select * from ${relation}`
    case 'ndjson':
      // The server writes every digit of numbers and times, and each value in the kind of its column: read here and
      // written again, both would be lost. `line.*`, since a column may be called line.
      return `select row_to_json(line.*)::text as line from ${relation} as line`
    default:
      throw unhandled('format', format)
  }
}
