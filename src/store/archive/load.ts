import type { PoolClient } from 'pg'
import { codeOf, Misuse } from '../../shared/errors.ts'

/** A connection on which a question is asked over the tables and the archive. */
export type ArchiveReader = PoolClient

const lockNotAvailable = '55P03'
const busy =
  'expected the tables of answers to be free for a moment, got somebody who changes or cleans them; ask again'

/** The table of this connection that holds the archived rows of a table. */
export function loadedTable(name: string): string {
  return `pg_temp.archived_${name}`
}

/**
 * Adds tables of this connection alone to those of the database, by inheritance: whatever reads a table here, the views
 * first of all, reads the archived rows as well, and nobody else does.
 */
export async function addTables(client: ArchiveReader, tables: readonly string[]): Promise<void> {
  // Until the first table of it is there, a connection may still say how much of them it keeps in memory.
  await client.query("set temp_buffers = '64MB'").catch(() => undefined)
  await client.query('begin read write')
  try {
    await client.query("set local lock_timeout = '10s'")
    for (const name of tables) {
      await client.query(
        `create temporary table archived_${name} () inherits (public.${name}) on commit preserve rows`,
      )
    }
    await client.query('commit')
  } catch (cause) {
    await client.query('rollback')
    throw codeOf(cause) === lockNotAvailable ? new Misuse(busy, { cause }) : cause
  }
}

/** Does what fills these tables, whatever the connection is otherwise set to. */
export async function filling(
  client: ArchiveReader,
  tables: readonly string[],
  fill: () => Promise<void>,
): Promise<void> {
  await client.query('begin read write')
  // As the values were written.
  await client.query("set local timezone = 'UTC'")
  // Rows of tables that are new in a transaction need not be looked at again to know that they are there.
  await client.query(`truncate ${tables.map((name) => loadedTable(name)).join(', ')}`)
  await fill()
  await client.query('commit')
}

/** Says which days are there again. */
export async function enterDays(client: ArchiveReader, days: readonly string[]): Promise<void> {
  await client.query(
    `insert into ${loadedTable('loaded_days')} (run_date) select unnest($1::date[])`,
    [[...days]],
  )
}

/** Makes the rows as quick to find as those of the table itself. */
export async function settleTables(
  client: ArchiveReader,
  keys: ReadonlyMap<string, readonly string[]>,
) {
  await client.query('begin read write')
  for (const [name, key] of keys) {
    await client.query(`create index on ${loadedTable(name)} (${key.join(', ')})`)
    await client.query(`analyze ${loadedTable(name)}`)
  }
  await client.query('commit')
}

/** Days in the archive that hold answers which other days use. */
export async function readLenders(
  client: ArchiveReader,
  days: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ day: string }>(
    `select distinct lent.run_date as day
    from public.runs
    join public.tasks on tasks.run_id = runs.id and tasks.state in ('reused', 'not_asked')
    join public.searches on searches.id = tasks.search_id and searches.archived
    join public.tasks as own on own.id = searches.task_id
    join public.runs as lent on lent.id = own.run_id
    where lent.run_date <> all ($1::date[])
      and (runs.run_date = any ($1::date[]) or runs.run_date not in (select run_date from public.archived_days))`,
    [[...days]],
  )
  return rows.map(({ day }) => day)
}
