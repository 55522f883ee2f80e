// Runs several statements in one snapshot, with a reader's role.
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { prepareReading, type ViewReading } from '../../base/database/views.ts'

interface Snapshot extends ViewReading {
  /** Role used for reading, or null for the user in DATABASE_URL. */
  readonly role: string | null
}

/** Runs all statements for a page in one snapshot, in a read-only transaction. */
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
