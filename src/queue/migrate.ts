import { runMigrations, SchemaVersionMismatchError } from 'bullmq'
import { WrongDatabase } from '../shared/errors.ts'
import { openPool } from '../store/database.ts'

/** Brings BullMQ's own tables up to date, in their own schema; safe when several hosts ask at once. */
export async function migrateQueue(databaseUrl: string): Promise<void> {
  const pool = openPool(databaseUrl, { name: 'migrate', max: 1 })
  try {
    const client = await pool.connect()
    try {
      await runMigrations(client, 'bullmq')
    } finally {
      client.release()
    }
  } catch (cause) {
    if (!(cause instanceof SchemaVersionMismatchError)) throw cause
    throw new WrongDatabase(
      `expected queue tables that this program knows, got those of a newer release (${cause.message}); use that release or a newer one`,
      { cause },
    )
  } finally {
    await pool.end()
  }
}
