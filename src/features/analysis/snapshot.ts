// Reads many statements in one snapshot, in the role of a reader.
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { prepareReading, type ViewReading } from '../../base/database/views.ts'

/** How one view of the tables is to be had. */
interface Snapshot extends ViewReading {
  /** Role that reads; null: the user of DATABASE_URL. */
  readonly role: string | null
}

/** One view of the tables for all statements of a page, in a transaction that cannot write. */
export function readSnapshot<T>(
  db: Database,
  { role, ...reading }: Snapshot,
  read: (trx: Database) => Promise<T>,
): Promise<T> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await prepareReading(trx, reading)
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
