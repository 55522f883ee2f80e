import { sql } from '../kysely.ts'
import { Misuse } from '../../shared/errors.ts'
import type { Database } from '../database.ts'
import type { Inquiry } from './ask.ts'

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

/** Columns that say when a row is of, the one that is asked for first. */
const times = [
  ...['run_date', 'date', 'day', 'fetched_at', 'at', 'due_at', 'sent_at', 'received_at'],
  ...['created_at', 'finished_at', 'first_seen', 'written_at'],
]

/** Which rows of a relation are wanted. */
export interface RowChoice {
  /** Days as they were typed, both included. */
  readonly since: string | undefined
  readonly until: string | undefined
  /** A condition in SQL. */
  readonly where: string | undefined
}

/** The rows of a relation that are wanted, as a question. */
export async function selectRows(
  db: Database,
  relation: string,
  { since, until, where }: RowChoice,
): Promise<Pick<Inquiry, 'text' | 'values'>> {
  const bounded = since !== undefined || until !== undefined
  const time = bounded ? await findTime(db, relation) : null
  const conditions = [
    // A comment at its end must not swallow the bracket.
    ...(where === undefined ? [] : [`(${where}\n)`]),
    ...(time === null ? [] : [`${time} >= coalesce($1::date, '-infinity')`]),
    ...(time === null ? [] : [`${time} < coalesce($2::date + 1, 'infinity')`]),
  ]
  const text = `select * from ${relation}${conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`}`
  return { text, values: time === null ? [] : [since ?? null, until ?? null] }
}

async function findTime(db: Database, relation: string): Promise<string> {
  const { rows } = await sql<{ name: string }>`
    select attname as name
    from pg_attribute
    where attrelid = ${relation}::regclass
      and attname = any (${times}::text[])
      and atttypid in ('date'::regtype, 'timestamptz'::regtype)
      and not attisdropped
    order by array_position(${times}::text[], attname::text)
    limit 1
  `.execute(db)
  const [found] = rows
  if (found !== undefined) return found.name
  throw new Misuse(
    `expected a table or view with a time for --since and --until, got ${relation}, which has none; leave them out, or say it with --where`,
  )
}

/** Each row of a question as one line of JSON. */
export function asLines(question: string): string {
  // The server writes every digit of numbers and times, and each value in the kind of its column: read here and
  // written again, both would be lost. `line.*`, since a column may be called line.
  return `select row_to_json(line.*)::text as line from (${question.trim().replace(/(;|\s|--[^\n]*$)+$/, '')}\n) as line`
}
