import pg, { type PoolClient } from 'pg'
import { codeOf } from '../../shared/errors.ts'
import { askOnce } from '../analysis/fetch.ts'
import { only } from '../statement.ts'
import { archivedTables, leavingPlaces, type ArchivedColumn, type ArchivedTable } from './tables.ts'

/** Values are written as everybody reads them, whatever this server or this user is set to. */
const plainly = `
  set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local bytea_output = 'hex';
  set local extra_float_digits = 1; set local querymill.archiving = 'on'`

/** Does something in one transaction that sees the tables as they were when it began, and changes nothing that others changed. */
export async function inArchiving<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin isolation level repeatable read read write')
  try {
    await client.query(plainly)
    const done = await work()
    await client.query('commit')
    return done
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** True: what was to leave was changed by somebody else meanwhile; the same may succeed at once. */
export function changedMeanwhile(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error) ?? '')
}

/** Finds out once which answers days use that stay: they stay as well. */
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
    [[...days]],
  )
  await client.query('analyze pg_temp.still_used')
}

/** What leaves with a day. */
export interface Leaving {
  readonly part: number
  readonly answers: number
  readonly bodies: number
}

/** Names what leaves with a day, until the transaction ends. */
export async function gatherLeaving(client: PoolClient, day: string): Promise<Leaving> {
  await client.query(`
    create temporary table leaving_runs (id bigint) on commit drop;
    create temporary table leaving (search_id bigint) on commit drop;
    create temporary table leaving_calls (call_id bigint) on commit drop`)
  await client.query(
    'insert into pg_temp.leaving_runs select id from public.runs where run_date = $1::date',
    [day],
  )
  // Each before the next one is looked for: otherwise all there is would be gone through for every day.
  await client.query('analyze pg_temp.leaving_runs')
  await client.query(`
    insert into pg_temp.leaving
    select searches.id
    from pg_temp.leaving_runs
    join public.tasks on tasks.run_id = leaving_runs.id
    join public.calls on calls.task_id = tasks.id
    join public.searches on searches.call_id = calls.id
    where not searches.archived
      and searches.id not in (select search_id from pg_temp.still_used)`)
  await client.query('analyze pg_temp.leaving')
  await client.query(`
    insert into pg_temp.leaving_calls
    select raw_answers.call_id
    from pg_temp.leaving_runs
    join public.tasks on tasks.run_id = leaving_runs.id
    join public.calls on calls.task_id = tasks.id
    join public.raw_answers on raw_answers.call_id = calls.id
    left join public.searches on searches.call_id = calls.id
    where searches.id in (select search_id from pg_temp.leaving)
      or (searches.id is null and calls.error_code is distinct from 'UNSTORABLE')`)
  await client.query('analyze pg_temp.leaving_calls')
  const { rows } = await client.query<Leaving>(
    `select
      (select coalesce(max(part), 0) + 1 from public.archived_days where run_date = $1::date) as part,
      (select count(*) from pg_temp.leaving) as answers,
      (select count(*) from pg_temp.leaving_calls) as bodies`,
    [day],
  )
  return only(rows)
}

/** Names the pages and domains that go along, until the transaction ends. */
export async function gatherPlaces(client: PoolClient): Promise<void> {
  await client.query(`create temporary table leaving_places on commit drop as ${leavingPlaces}`)
  await client.query('analyze pg_temp.leaving_places')
}

/** What is copied out of a column of `t`; it is read back by the server as it is. */
export function copiedColumn({ name, typeName }: Pick<ArchivedColumn, 'name' | 'typeName'>) {
  const cell = `t.${pg.escapeIdentifier(name)}`
  return typeName === 'bytea' ? `pg_temp.told_bytes(${cell})` : cell
}

/** What copies the rows of a table out that leave, in their order. */
export function leavingRows(
  { name, key, where }: ArchivedTable,
  columns: readonly ArchivedColumn[],
): string {
  const selected = columns.map((column) => copiedColumn(column))
  const order = key.map((column) => `t.${column}`)
  return `
    copy (
      select ${selected.join(', ')} from public.${name} t where ${where} order by ${order.join(', ')}
    ) to stdout (format csv, force_quote *)`
}

/** What is written down of a day in the archive. */
export interface LeftDay {
  readonly day: string
  readonly part: number
  readonly folder: string
  readonly manifestSha256: string
  readonly bytes: number
}

/** Removes what has left and writes the day down; gives how many rows went, by table. */
export async function removeLeft(
  client: PoolClient,
  { day, part, folder, manifestSha256, bytes }: LeftDay,
): Promise<ReadonlyMap<string, number>> {
  const gone = new Map<string, number>()
  for (const { name, kind, where } of archivedTables) {
    if (kind === 'copied') continue
    const { rowCount } = await client.query(`delete from public.${name} t where ${where}`)
    gone.set(name, rowCount ?? 0)
  }
  await client.query(
    'update public.searches set archived = true where id in (select search_id from pg_temp.leaving)',
  )
  await client.query(
    `insert into public.archived_days (run_date, part, folder, manifest_sha256, answers, moved_rows, bytes)
    select $1::date, $2, $3, $4, count(*), $5, $6
    from pg_temp.leaving`,
    [day, part, folder, manifestSha256, [...gone.values()].reduce((sum, n) => sum + n, 0), bytes],
  )
  return gone
}

/** What would leave with a day: nothing is written. */
export async function countLeaving(client: PoolClient, day: string) {
  await client.query('begin isolation level repeatable read read write')
  try {
    const { part, answers } = await gatherLeaving(client, day)
    let rows = 0
    for (const { name, kind, where } of archivedTables) {
      if (kind === 'copied') continue
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
