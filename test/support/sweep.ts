// await whereFound(db, 'zeppelin') → ['public.queries.q', …]: every column of every table, in any schema, that contains
// the words in text, JSON or bytes. It reads the catalogue, so that new columns are included.
import { sql } from 'kysely'
import type { Database } from '../../src/base/database/database.ts'

interface Column {
  readonly schema: string
  readonly table: string
  readonly column: string
  readonly type: string
}

/** The columns that contain the words, in any case. */
export async function whereFound(db: Database, words: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const { schema, table, column, type } of await columnsOf(db)) {
    const value = sql.ref(`t.${column}`)
    const text = type === 'bytea' ? sql`encode(${value}, 'escape')` : sql`${value}::text`
    const { rows } = await sql<{ held: boolean }>`
      select exists (
        select from ${sql.table(`${schema}.${table}`)} as t
        where strpos(lower(${text}), lower(${words})) > 0
      ) as held`.execute(db)
    if (rows[0]?.held === true) found.push(`${schema}.${table}.${column}`)
  }
  return found.toSorted()
}

/** Every column that can contain words, excluding numbers, times and the like. */
async function columnsOf(db: Database): Promise<readonly Column[]> {
  const { rows } = await sql<Column>`
    select n.nspname as schema, c.relname as table, a.attname as column, t.typname as type
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    join pg_namespace n on n.oid = c.relnamespace
    join pg_type t on t.oid = a.atttypid
    where c.relkind in ('r', 'p', 'm')
      and n.nspname not in ('pg_catalog', 'information_schema')
      and n.nspname not like 'pg\\_t%'
      and a.attnum > 0
      and not a.attisdropped
      and t.typname not in (
        'int2', 'int4', 'int8', '_int4', '_int8', 'float4', 'float8', 'numeric', 'bool', 'date', 'timestamptz', 'uuid'
      )
    order by 1, 2, a.attnum`.execute(db)
  return rows
}
