import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'

/** How one view of the tables is to be had. */
export interface Snapshot {
  /** Kinds of answers that the views show, as in `live,sandbox`. */
  readonly origins: string
  /** True: answers of suspect nights as well. */
  readonly suspects: boolean
  /** Who reads; null: the user of DATABASE_URL. */
  readonly role: string | null
  readonly timeoutMs: number
}

/** One view of the tables for all statements of a page, in a transaction that cannot write. */
export function readSnapshot<T>(
  db: Database,
  { origins, suspects, role, timeoutMs }: Snapshot,
  read: (trx: Database) => Promise<T>,
): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql`
        select
          set_config('statement_timeout', ${String(timeoutMs)}, true),
          set_config('jit', 'off', true),
          set_config('work_mem', '64MB', true),
          set_config('querymill.suspects', ${suspects ? 'show' : ''}, true),
          set_config('querymill.origins', ${origins}, true)
      `.execute(trx)
      if (role !== null) await sql`set local role ${sql.id(role)}`.execute(trx)
      return read(trx)
    })
}

/** Kinds of answers that the views of this database show to who asks for none. */
export async function readShownOrigins(db: Database): Promise<string> {
  const { rows } = await sql<{ origins: string }>`
    select array_to_string(analysis.origins(), ',') as origins
  `.execute(db)
  return rows[0]?.origins ?? 'live'
}
