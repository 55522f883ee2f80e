import type { PoolClient } from 'pg'
import { WrongDatabase } from '../../shared/errors.ts'
import { copyIn } from './copy.ts'
import type { ArchivedDay } from './days.ts'

/** A column as a file of the archive names it. */
export interface FiledColumn {
  readonly name: string
  readonly type: string
}

/** Where rows go. */
export interface RowEntry {
  /** With its schema. */
  readonly table: string
  readonly columns: readonly FiledColumn[]
  /** True: nobody else has seen the table since this transaction began. */
  readonly fresh?: true
}

/** Rows as the server copied them out. */
type Copied = AsyncIterable<Buffer>

/** Puts rows of the archive into a table; gives how many. */
export function enterRows(
  client: PoolClient,
  { table, columns, fresh }: RowEntry,
  rows: Copied,
): Promise<number> {
  const how = fresh === true ? 'format csv, freeze' : 'format csv'
  return copyIn(client, `copy ${table} (${namesOf(client, columns)}) from stdin (${how})`, rows)
}

function namesOf(client: PoolClient, columns: readonly FiledColumn[]): string {
  return columns.map(({ name }) => client.escapeIdentifier(name)).join(', ')
}

/** Where rows wait until the transaction ends. */
function stagedTable(name: string): string {
  return `pg_temp.staged_${name}`
}

/** Puts rows of a table where they wait, whatever of them is there already. */
export async function stageRows(
  client: PoolClient,
  { table: name, columns }: RowEntry,
  rows: Copied,
): Promise<void> {
  const table = stagedTable(name)
  const shape = columns.map(
    (column) => `${client.escapeIdentifier(column.name)} ${checkedType(column.type)}`,
  )
  await client.query(`create temporary table staged_${name} (${shape.join(', ')}) on commit drop`)
  await enterRows(client, { table, columns }, rows)
}

/** Puts rows that wait into their table, if they are not there. */
export async function enterStaged(
  client: PoolClient,
  { table: name, columns }: RowEntry,
): Promise<void> {
  const names = namesOf(client, columns)
  await client.query(
    `insert into public.${name} (${names})
    select ${names} from ${stagedTable(name)}
    on conflict do nothing`,
  )
}

/** A manifest is a file that somebody may have written into. */
function checkedType(type: string): string {
  if (/^[a-z][a-z ]*$/.test(type)) return type
  throw new WrongDatabase(
    `expected the name of a type in the manifest, got ${JSON.stringify(type)}; the manifest was changed`,
  )
}

/** Takes the mark from answers that wait; gives how many had it. */
export async function unmarkAnswers(client: PoolClient): Promise<number> {
  const { rowCount } = await client.query(
    `update public.searches set archived = false
    where archived and id in (select id from ${stagedTable('searches')})`,
  )
  return rowCount ?? 0
}

/** True: some of the answers that wait are none of those that leave. */
export async function areStrange(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query(
    `select from ${stagedTable('searches')}
    where id not in (select search_id from pg_temp.leaving)
    limit 1`,
  )
  return rows.length > 0
}

/** The day is not in the archive any more. Sums that were made without it are made again. */
export async function crossOut(client: PoolClient, { run_date: day, part }: ArchivedDay) {
  const { rowCount } = await client.query(
    `with back as (
      delete from public.archived_days
      where run_date = $1::date and part = $2
      returning run_date, archived_at
    ),
    stale as (
      delete from public.finished_days
      using back
      where finished_days.run_date >= back.run_date
        and finished_days.begun_at > back.archived_at
    )
    select from back`,
    [day, part],
  )
  return rowCount === 1
}
