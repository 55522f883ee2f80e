// The text of docs/schema.md, generated from the comments in a database's catalogue.
import type { Pool } from 'pg'
import { withheld } from '../../src/base/database/reader-role.ts'

interface Column {
  readonly relation: string
  readonly kind: string
  readonly about: string
  readonly column: string
  readonly type: string
  readonly said: string
}

interface Reference {
  readonly from: string
  readonly to: string
  readonly columns: string
}

const columnsOf = (schema: string): string => `
  select
    relname as relation, relkind as kind, coalesce(obj_description(pg_class.oid, 'pg_class'), '') as about,
    attname as column,
    -- Releases spell a type with a collation differently; the type itself is the same.
    format_type(atttypid, atttypmod) || case when attnotnull and relkind = 'r' then ', not null' else '' end as type,
    coalesce(col_description(pg_class.oid, attnum), '') as said
  from pg_class
  join pg_attribute on attrelid = pg_class.oid
  where relnamespace = '${schema}'::regnamespace
    and relkind in ('r', 'v', 'm')
    and attnum > 0
    and not attisdropped
  order by relkind, relname, attnum`

// Foreign keys are declared only on PostgreSQL 18 or later; the file is generated from the embedded server, which is
// recent enough.
const references = `
  select
    source.relname as from, target.relname as to, string_agg(attname, ', ' order by attnum) as columns
  from pg_constraint
  join pg_class as source on source.oid = conrelid
  join pg_class as target on target.oid = confrelid
  join pg_attribute on attrelid = conrelid and attnum = any (conkey)
  where contype = 'f'
    and source.relnamespace = 'public'::regnamespace
  group by pg_constraint.oid, source.relname, target.relname
  order by 1, 2, 3`

const functions = `
  select
    proname || '(' || pg_get_function_arguments(oid) || ')' as signature,
    coalesce(obj_description(oid, 'pg_proc'), '') as about
  from pg_proc
  where pronamespace = 'analysis'::regnamespace
  order by 1`

/** The whole page. */
export async function describeSchema(pool: Pool): Promise<string> {
  const tables = (await pool.query<Column>(columnsOf('public'))).rows
  const views = (await pool.query<Column>(columnsOf('analysis'))).rows
  const notes = (await pool.query<Column>(columnsOf('notes'))).rows
  const links = (await pool.query<Reference>(references)).rows
  const calls = (await pool.query<{ signature: string; about: string }>(functions)).rows
  return [
    '# Tables and views',
    '',
    'Made by `npm run generate` from the comments in the database; a test fails when the two differ. Change the comments in `sql/`, not this page.',
    '',
    'How the views are meant to be used: [analysis.md](analysis.md).',
    '',
    '## How the tables hang together',
    '',
    'Keys of the tables of answers are declared, not enforced (from PostgreSQL 18 on they are in the catalogue, before that in this picture only).',
    '',
    '```mermaid',
    'erDiagram',
    ...links.map(({ from, to, columns }) => `  ${to} ||--o{ ${from} : "${columns}"`),
    '```',
    '',
    '## Views for analysts (schema `analysis`)',
    '',
    ...sections(views, 'analysis.'),
    '## Functions for analysts',
    '',
    ...calls.flatMap(({ signature, about }) => [`- \`analysis.${signature}\`: ${cell(about)}`]),
    '',
    '## Tables that analysts write (schema `notes`)',
    '',
    'The schema `scratch` beside it is for tables of their own.',
    '',
    ...sections(notes, 'notes.'),
    '## Tables (schema `public`)',
    '',
    `Analysts read these tables, and \`npm run export\` writes them into files, except the internal tables of querymill: ${inside.map((name) => `\`${name}\``).join(', ')}. The view \`analysis.account_days\` shows how balances changed, and the table \`nights\` the outcomes of schedules.`,
    '',
    ...sections(tables, ''),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n')
}

const inside: readonly string[] = withheld

function sections(columns: readonly Column[], prefix: string): readonly string[] {
  const relations = [...new Set(columns.map(({ relation }) => relation))]
  return relations.flatMap((relation) => {
    const own = columns.filter((column) => column.relation === relation)
    return [
      `### ${prefix}${relation}`,
      '',
      cell(own[0]?.about ?? ''),
      ...(inside.includes(`${prefix}${relation}`)
        ? ['', "The mill's own bookkeeping: analysts do not read it, and it cannot be exported."]
        : []),
      '',
      '| column | type | meaning |',
      '|---|---|---|',
      ...own.map(({ column, type, said }) => `| ${column} | ${type} | ${cell(said)} |`),
      '',
    ]
  })
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
