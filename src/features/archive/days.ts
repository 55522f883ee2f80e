// Selects the days and rows to archive, deletes archived rows, and records the archived days.

import { npmRun } from '../../base/cli/commands.ts'
import pg, { type PoolClient } from 'pg'
import type { Database, Pool } from '../../base/database/database.ts'
import { askOnce } from '../../base/database/fetch.ts'
import { factTables } from '../../base/database/facts.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'
import { codeOf, Misuse, WrongDatabase } from '../../base/errors.ts'

/** Prevents other commands from using the archive until the returned connection is closed. */
export async function holdArchive(pool: Pool): Promise<PoolClient> {
  const client = await pool.connect()
  try {
    await takeArchive(client, 'alone')
    await teachBytes(client)
    return client
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Makes a connection output bytea as text if possible. Text is lossless and takes half the space of hex. */
export async function teachBytes(client: PoolClient): Promise<void> {
  await client.query(`
    create or replace function pg_temp.told_bytes(given bytea) returns text language plpgsql strict as $$
    begin
      return replace(convert_from(given, 'UTF8'), E'\\\\', E'\\\\\\\\');
    exception when character_not_in_repertoire or untranslatable_character then
      return E'\\\\x' || encode(given, 'hex');
    end
    $$`)
}

export const lockNotAvailable = '55P03'

/** Locks the archive. The wait is long enough for the server to detect a killed connection. */
export async function takeArchive(client: PoolClient, how: 'alone' | 'shared'): Promise<void> {
  const lock = how === 'alone' ? 'pg_advisory_lock' : 'pg_advisory_lock_shared'
  await client.query("set lock_timeout = '3s'")
  try {
    await client.query(`select ${lock}(hashtext('querymill archive'))`)
  } catch (cause) {
    if (codeOf(cause) !== lockNotAvailable) throw cause
    throw new Misuse(
      `another ${npmRun('archive')}, or a query that reads the archive, is running on this database; wait until it has finished`,
      { cause },
    )
  } finally {
    await client.query('reset lock_timeout')
  }
}

export type ArchivedDay = Awaited<ReturnType<typeof readArchivedDays>>[number]

export function readArchivedDays(
  db: Database,
  { since = '-infinity', until = 'infinity' }: { since?: string; until?: string } = {},
) {
  return db
    .selectFrom('archived_days')
    .select(['run_date', 'part', 'folder', 'manifest_sha256', 'answers', 'moved_rows', 'bytes'])
    .where('run_date', '>=', since)
    .where('run_date', '<=', until)
    .orderBy('run_date')
    .orderBy('part')
    .execute()
}

/** Finds old days whose runs have ended, oldest first. Stops at a day with open runs, so no comparison skips a day. */
export async function readLeavingDays(db: Database, olderMs: number) {
  const { rows } = await sql<{ day: string; run: number | null }>`
    select
      runs.run_date as day,
      min(runs.id) filter (where
        runs.state in ('planning', 'open')
        or exists (
          select
          from calls
          join tasks on tasks.id = calls.task_id
          where calls.outcome is null and tasks.run_id = runs.id
        )) as run
    from runs
    where runs.run_date < (now() - ${olderMs} * interval '1 millisecond')::date
    group by runs.run_date
    order by day`.execute(db)
  const days: string[] = []
  for (const { day, run } of rows) {
    if (run !== null) return { days, kept: { day, run } }
    days.push(day)
  }
  return { days, kept: null }
}

/** A table in the archive: which rows are archived, and whether they are moved or copied. */
export interface ArchivedTable {
  readonly name: string
  /** Moved rows are deleted from the table. Copied rows are kept there, and make the archive self-contained. */
  readonly kind: 'moved' | 'copied'
  /** Columns by which rows are sorted, so that the same rows produce the same file. */
  readonly key: string[]
  readonly without?: readonly string[]
  /** SQL condition for the rows to archive. The alias of the table is `t`. */
  readonly where: string
}

// With the range condition, the scan skips rows that were archived before.
const ofAnswers = `
  t.search_id in (select search_id from pg_temp.leaving)
  and t.search_id >= (select min(search_id) from pg_temp.leaving)
  and t.search_id <= (select max(search_id) from pg_temp.leaving)`
const copied = (
  name: string,
  by: string,
  { column = 'id', ...more }: { column?: string; without?: readonly string[] } = {},
): ArchivedTable => {
  return { name, kind: 'copied', key: ['id'], where: `t.${column} in (${by})`, ...more }
}
const idsOf = (column: string, table: string) =>
  `select t.${column} from public.${table} t where ${ofAnswers}`

export const archivedTables: readonly ArchivedTable[] = [
  {
    name: 'raw_answers',
    kind: 'moved',
    key: ['call_id'],
    where: 't.call_id in (select call_id from pg_temp.leaving_calls)',
  },
  ...factTables.map((name): ArchivedTable => {
    return { name, kind: 'moved', key: ['search_id', 'ordinal'], where: ofAnswers }
  }),
  // The archive does not need the column that marks archived rows.
  copied('searches', 'select search_id from pg_temp.leaving', { without: ['archived'] }),
  copied('tasks', 'select id from pg_temp.leaving_runs', { column: 'run_id' }),
  // The run date is not written, because it is part of the folder name.
  copied('runs', 'select id from pg_temp.leaving_runs', { without: ['run_date'] }),
  copied(
    'queries',
    'select tasks.query_id from public.tasks join pg_temp.leaving_runs on leaving_runs.id = run_id',
  ),
  copied('pages', 'select page_id from pg_temp.leaving_places'),
  copied(
    'domains',
    `select domain_id from pg_temp.leaving_places
    union select pages.domain_id from public.pages
    where pages.id in (select page_id from pg_temp.leaving_places)`,
  ),
  copied('entities', idsOf('entity_id', 'search_entities')),
  copied('clusters', idsOf('cluster_id', 'search_clusters')),
  copied('related_searches', idsOf('related_search_id', 'search_related_searches')),
]

export const movedTables = archivedTables.filter(({ kind }) => kind === 'moved')

/** Descriptions of the data that is never archived. Each manifest lists them. */
export const leftOut = [
  'calls, accounts, stops and all other ledger tables are kept',
  'lists and their query settings are kept',
  'sums of finished days are kept',
  'answers that a later day still uses are kept until that day is archived',
  `bodies with rows that the database rejected are kept for ${npmRun('reparse')}`,
]

interface ArchivedColumn {
  readonly name: string
  readonly typeName: string
  readonly generated: boolean
  readonly required: boolean
}

export async function readColumns(
  client: PoolClient,
  { name, without = [] }: Pick<ArchivedTable, 'name' | 'without'>,
): Promise<readonly ArchivedColumn[]> {
  const { rows } = await client.query<ArchivedColumn>(
    `select attname as name, format_type(atttypid, atttypmod) as "typeName", attgenerated <> '' as generated,
      attnotnull as required
    from pg_attribute
    where attrelid = to_regclass('public.' || quote_ident($1))
      and attnum > 0
      and not attisdropped
    order by attnum`,
    [name],
  )
  if (rows.length === 0) {
    throw new WrongDatabase(`the table ${name} does not exist; run: ${npmRun('migrate')}`)
  }
  return rows.filter((column) => !without.includes(column.name))
}

/** Runs the work in a repeatable-read transaction, which fails if another transaction changed the same rows. */
export async function inArchiving<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin isolation level repeatable read read write')
  try {
    // The output formats must not depend on the server's or user's settings.
    await client.query(`
      set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local bytea_output = 'hex';
      set local extra_float_digits = 1; set local querymill.archiving = 'on'`)
    const done = await work()
    await client.query('commit')
    return done
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** True if an error means that another transaction changed the same rows, so that an immediate retry may succeed. */
export function changedMeanwhile(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error) ?? '')
}

/** Collects the answers that the remaining days reuse. These answers stay in the database. */
export async function gatherKept(client: PoolClient, days: readonly string[]): Promise<void> {
  await client.query('drop table if exists pg_temp.still_used')
  await client.query('create temporary table still_used (search_id bigint primary key)')
  await client.query(
    `insert into pg_temp.still_used
    select distinct tasks.search_id
    from public.tasks
    join public.runs on runs.id = tasks.run_id
    where tasks.state in ('reused', 'not_asked')
      and tasks.search_id is not null
      and runs.run_date <> all ($1::date[])
      and runs.run_date not in (select run_date from public.archived_days)`,
    [days],
  )
  await client.query('analyze pg_temp.still_used')
}

/** Collects the rows to archive for a day in the transaction's temporary tables; returns the day's size. */
export async function gatherLeaving(client: PoolClient, day: string) {
  const quoted = pg.escapeLiteral(day)
  await gather(client, 'leaving_runs', `select id from public.runs where run_date = ${quoted}`)
  await gather(
    client,
    'leaving',
    `select searches.id as search_id
    from pg_temp.leaving_runs
    join public.tasks on tasks.run_id = leaving_runs.id
    join public.calls on calls.task_id = tasks.id
    join public.searches on searches.call_id = calls.id
    where not searches.archived
      and searches.id not in (select search_id from pg_temp.still_used)`,
  )
  await gather(
    client,
    'leaving_calls',
    `select raw_answers.call_id
    from pg_temp.leaving_runs
    join public.tasks on tasks.run_id = leaving_runs.id
    join public.calls on calls.task_id = tasks.id
    join public.raw_answers on raw_answers.call_id = calls.id
    left join public.searches on searches.call_id = calls.id
    where searches.id in (select search_id from pg_temp.leaving)
      or (searches.id is null and calls.error_code is distinct from 'UNSTORABLE')`,
  )
  const { rows } = await client.query<{ part: number; answers: number; bodies: number }>(
    `select
      (select coalesce(max(part), 0) + 1 from public.archived_days where run_date = $1) as part,
      (select count(*) from pg_temp.leaving) as answers,
      (select count(*) from pg_temp.leaving_calls) as bodies`,
    [day],
  )
  return only(rows)
}

/** Collects the pages and domains to copy, without duplicates, because many rows refer to the same page or domain. */
export function gatherPlaces(client: PoolClient): Promise<void> {
  const [results, features] = ['organic_results', 'search_features'].map((table) =>
    idsOf('page_id, t.domain_id', table),
  )
  return gather(client, 'leaving_places', `${results} union ${features}`)
}

async function gather(client: PoolClient, table: string, rows: string): Promise<void> {
  await client.query(`create temporary table ${table} on commit drop as ${rows}`)
  // Without statistics on the temporary table, the next query would scan whole tables.
  await client.query(`analyze pg_temp.${table}`)
}

/** SQL that exports a column of `t` in a form that the server can import. */
export function copiedColumn({ name, typeName }: Pick<ArchivedColumn, 'name' | 'typeName'>) {
  const cell = `t.${pg.escapeIdentifier(name)}`
  return typeName === 'bytea' ? `pg_temp.told_bytes(${cell})` : cell
}

/** Returns the COPY statement that reads the rows to archive in key order. */
export function leavingRows(
  { name, key, where }: ArchivedTable,
  columns: readonly ArchivedColumn[],
): string {
  const selected = columns.map(copiedColumn).join(', ')
  const order = key.map((column) => `t.${column}`).join(', ')
  return `
    copy (
      select ${selected} from public.${name} t where ${where} order by ${order}
    ) to stdout (format csv, force_quote *)`
}

/** Deletes archived rows and records the day. Throws an error if the number of deleted rows is not as expected. */
export async function removeLeft(
  client: PoolClient,
  left: Omit<ArchivedDay, 'answers' | 'moved_rows'>,
  written: readonly { readonly table: string; readonly rows: number }[],
): Promise<number> {
  let sum = 0
  for (const { name, where } of movedTables) {
    const { rowCount } = await client.query(`delete from public.${name} t where ${where}`)
    const expected = written.find(({ table }) => table === name)?.rows ?? 0
    if (rowCount !== expected) {
      throw new Misuse(
        `expected ${expected} rows of ${name} to be deleted with ${left.run_date}, got ${rowCount}; nothing was removed: run the same command again`,
      )
    }
    sum += expected
  }
  await client.query(
    'update public.searches set archived = true where id in (select search_id from pg_temp.leaving)',
  )
  await client.query(
    `insert into public.archived_days (run_date, part, folder, manifest_sha256, answers, moved_rows, bytes)
    select $1::date, $2, $3, $4, count(*), $5, $6
    from pg_temp.leaving`,
    [left.run_date, left.part, left.folder, left.manifest_sha256, sum, left.bytes],
  )
  return sum
}

/** An archived day or, in a preview, a day that would be archived. */
export type Archived = NonNullable<Awaited<ReturnType<typeof countLeaving>>>

export async function countLeaving(client: PoolClient, day: string) {
  await client.query('begin isolation level repeatable read read write')
  try {
    const { part, answers } = await gatherLeaving(client, day)
    let rows = 0
    for (const { name, where } of movedTables) {
      const counted = await askOnce(client, `select count(*) from public.${name} t where ${where}`)
      rows += Number(only(counted.rows)[0])
    }
    return part > 1 && rows + answers === 0
      ? null
      : { run_date: day, part, answers, rows, bytes: 0 }
  } finally {
    await client.query('rollback')
  }
}
