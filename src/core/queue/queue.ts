// Opens queues and their connections on either backend, and migrates BullMQ's tables.

import { runMigrations, SchemaVersionMismatchError } from 'bullmq'
import type { Config } from '../../base/config.ts'
import { connectionFailure, openPool, type Pool } from '../../base/database/database.ts'
import { letGo } from '../../base/database/trouble.ts'
import { codeOf, WrongDatabase } from '../../base/errors.ts'
import type { QueueStore } from './bullmq.ts'

/** Store and owner of a queue. */
export interface QueuePlace {
  readonly config: Pick<Config, 'redisUrl'>
  readonly databaseUrl: string
  readonly installation: string
}

/** The connections of one part of the queue on PostgreSQL; on Redis each part opens what it needs. */
interface PartConnections {
  /** Name in `pg_stat_activity`. */
  readonly name: string
  readonly max: number
  /** Its commits may be lost in a crash of the server. */
  readonly hasty?: boolean
}

/** For whoever adds and takes slices: a lost job is made again from the tables, one that comes again is known there. */
export const sliceConnections: PartConnections = { name: 'queue', max: 4, hasty: true }

/** Opens a part of the queue with connections of its own: closed with it, and when it cannot be opened. */
export async function openPart<Part extends { close(): Promise<void> }>(
  { config, databaseUrl, installation }: QueuePlace,
  connections: PartConnections,
  open: (store: QueueStore, id: string) => Promise<Part>,
): Promise<Part> {
  if (config.redisUrl !== null) return open({ redisUrl: config.redisUrl }, installation)
  const pool = openQueuePool(databaseUrl, connections)
  try {
    await connect(pool)
    const part = await open({ pool }, installation)
    const close = async () => {
      await part.close()
      await letGo(() => pool.end())
    }
    return { ...part, close }
  } catch (error) {
    await letGo(() => pool.end())
    throw error
  }
}

// Many that start at once on a small machine keep each other's first connections waiting for longer than one try.
const firstTries = 3

/** Connects before anything rests on it: what the queue waits for on a connection that never came is not asked for again. */
async function connect(pool: Pool): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      const client = await pool.connect()
      client.release()
      return
    } catch (error) {
      if (tries === firstTries || codeOf(error) !== connectionFailure) throw error
    }
  }
}

function openQueuePool(databaseUrl: string, connections: PartConnections): Pool {
  const pool = openPool(databaseUrl, { ...connections, schema: 'bullmq' })
  // Each worker of the queue listens to the errors of the pool for good: many nights in one process are no leak.
  return pool.setMaxListeners(0)
}

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
