import { codeOf, Misuse } from '../../shared/errors.ts'
import { sql } from '../kysely.ts'
import type { Database, Pool } from '../database.ts'
import type { PoolClient } from 'pg'

/** A connection that holds the archive: whoever has it is the only one at it. */
export type Archivist = PoolClient

/** Takes the archive for one command; the connection gives it back when it ends. */
export async function holdArchive(pool: Pool): Promise<Archivist> {
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

/**
 * Teaches a connection to write bytes as text where they are text, which is half as long as hex and is read back as it is.
 * Nothing but trying tells this server whether bytes are text.
 */
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

const lockNotAvailable = '55P03'

/** Waits a moment, in which a connection that was killed is found gone, and not for an archive of hours. */
export async function takeArchive(client: PoolClient, how: 'alone' | 'shared'): Promise<void> {
  const lock = how === 'alone' ? 'pg_advisory_lock' : 'pg_advisory_lock_shared'
  await client.query("set lock_timeout = '3s'")
  try {
    await client.query(`select ${lock}(hashtext('querymill archive'))`)
  } catch (cause) {
    if (codeOf(cause) !== lockNotAvailable) throw cause
    throw new Misuse(
      'expected nobody else at the archive of this database, got another npm run archive, or a question that reads it; wait until it is done',
      { cause },
    )
  } finally {
    await client.query('reset lock_timeout')
  }
}

/** A day in the archive, or a part of one. */
export interface ArchivedDay {
  readonly run_date: string
  readonly part: number
  readonly folder: string
  readonly manifest_sha256: string
  readonly answers: number
  readonly moved_rows: number
  readonly bytes: number
}

/** The parts of archived days, the oldest first. */
export async function readArchivedDays(
  db: Database,
  { since = '-infinity', until = 'infinity' }: { since?: string; until?: string } = {},
): Promise<readonly ArchivedDay[]> {
  const { rows } = await sql<ArchivedDay>`
    select run_date, part, folder, manifest_sha256, answers, moved_rows, bytes
    from archived_days
    where run_date between ${since}::date and ${until}::date
    order by run_date, part`.execute(db)
  return rows
}

/** Which days may leave, and what keeps the next one. */
export interface LeavingDays {
  readonly days: readonly string[]
  /** The first day that is old enough and not over; those behind it wait as well. */
  readonly kept: { readonly day: string; readonly run: number } | null
}

/**
 * Days before a limit whose runs have ended, the oldest first. None behind one that has not: what is compared over time
 * never skips a day that is in the archive.
 */
export async function readLeavingDays(db: Database, olderMs: number): Promise<LeavingDays> {
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
  const at = rows.findIndex(({ run }) => run !== null)
  const kept = at === -1 ? null : rows[at]
  return {
    days: (at === -1 ? rows : rows.slice(0, at)).map(({ day }) => day),
    kept: kept === null || kept === undefined ? null : { day: kept.day, run: kept.run ?? 0 },
  }
}
