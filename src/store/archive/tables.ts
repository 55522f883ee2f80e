import type { PoolClient } from 'pg'
import { WrongDatabase } from '../../shared/errors.ts'
import { kindOfCell, type CellColumn } from '../analysis/cells.ts'

/** A table as the archive holds it: which rows of it belong to the answers that leave, and what becomes of them here. */
export interface ArchivedTable {
  readonly name: string
  /** moved: they leave the table; copied: they stay, and make what has left readable by itself. */
  readonly kind: 'moved' | 'copied'
  /** In this order they are written: the same rows give the same file. */
  readonly key: readonly string[]
  /** Columns that are not written. */
  readonly without?: readonly string[]
  /** Which rows `t` are meant. */
  readonly where: string
}

// Between the first and the last: what left before them is not gone over.
const ofAnswers = `
  t.search_id in (select search_id from pg_temp.leaving)
  and t.search_id >= (select min(search_id) from pg_temp.leaving)
  and t.search_id <= (select max(search_id) from pg_temp.leaving)`
const facts = (name: string): ArchivedTable => {
  return { name, kind: 'moved', key: ['search_id', 'ordinal'], where: ofAnswers }
}
const named = (name: string, by: string): ArchivedTable => {
  return { name, kind: 'copied', key: ['id'], where: `t.id in (${by})` }
}
const idsOf = (column: string, table: string) =>
  `select t.${column} from public.${table} t where ${ofAnswers}`

/** What leaves first, then what goes along: answers before what they name. */
export const archivedTables: readonly ArchivedTable[] = [
  {
    name: 'raw_answers',
    kind: 'moved',
    key: ['call_id'],
    where: 't.call_id in (select call_id from pg_temp.leaving_calls)',
  },
  facts('organic_results'),
  facts('search_entities'),
  facts('search_clusters'),
  facts('search_related_searches'),
  facts('search_features'),
  {
    name: 'searches',
    kind: 'copied',
    key: ['id'],
    // Its word for being in the archive.
    without: ['archived'],
    where: 't.id in (select search_id from pg_temp.leaving)',
  },
  {
    name: 'tasks',
    kind: 'copied',
    key: ['id'],
    where: 't.run_id in (select id from pg_temp.leaving_runs)',
  },
  // The folder says the day.
  {
    name: 'runs',
    kind: 'copied',
    key: ['id'],
    without: ['run_date'],
    where: 't.id in (select id from pg_temp.leaving_runs)',
  },
  named(
    'queries',
    'select tasks.query_id from public.tasks join pg_temp.leaving_runs on leaving_runs.id = run_id',
  ),
  named('pages', 'select page_id from pg_temp.leaving_places'),
  named(
    'domains',
    `select domain_id from pg_temp.leaving_places
    union select pages.domain_id from public.pages
    where pages.id in (select page_id from pg_temp.leaving_places)`,
  ),
  named('entities', idsOf('entity_id', 'search_entities')),
  named('clusters', idsOf('cluster_id', 'search_clusters')),
  named('related_searches', idsOf('related_search_id', 'search_related_searches')),
]

/** Pages and domains that answers name, looked up once: they are what most rows name. */
export const leavingPlaces = `
  ${idsOf('page_id, t.domain_id', 'organic_results')} union
  ${idsOf('page_id, t.domain_id', 'search_features')}`

/** What answers are named by: put back where it is missing. */
export const namingTables = [
  'domains',
  'pages',
  'entities',
  'clusters',
  'related_searches',
] as const

/** What stays in the database alone, told by each manifest. */
export const leftOut: readonly string[] = [
  'calls, accounts, stops and every other table of the ledger: they stay',
  'lists and what they say about queries: they stay',
  'sums of finished days: they stay',
  'answers that a younger day still uses: they stay until that day leaves',
  'bodies whose rows the tables refused: npm run reparse needs them',
]

/** A column, with the name of its type. */
export interface ArchivedColumn extends CellColumn {
  readonly typeName: string
  /** Made of other columns by the table itself. */
  readonly generated: boolean
}

/** The columns of a table as they are now. */
export async function readColumns(
  client: PoolClient,
  { name, without = [] }: Pick<ArchivedTable, 'name' | 'without'>,
): Promise<readonly ArchivedColumn[]> {
  const { rows } = await client.query<Omit<ArchivedColumn, 'kind'>>(
    `select attname as name, atttypid::integer as type, format_type(atttypid, atttypmod) as "typeName",
      attgenerated <> '' as generated
    from pg_attribute
    where attrelid = to_regclass('public.' || quote_ident($1))
      and attnum > 0
      and not attisdropped
    order by attnum`,
    [name],
  )
  if (rows.length === 0) {
    throw new WrongDatabase(`expected a table ${name}, got none; type npm run migrate`)
  }
  return rows
    .filter((column) => !without.includes(column.name))
    .map((column) => ({ ...column, kind: kindOfCell(column.type) }))
}
