// Opens the queues and their connections on either backend, and migrates BullMQ's tables.

import { runMigrations, SchemaVersionMismatchError } from 'bullmq'
import type { Config } from '../../base/config.ts'
import {
  connectionFailure,
  openPool,
  type Pool,
  type PoolOptions,
} from '../../base/database/database.ts'
import { letGo } from '../../base/database/trouble.ts'
import { codeOf, WrongDatabase } from '../../base/errors.ts'
import type { QueueStore } from './bullmq.ts'

export interface QueuePlace {
  readonly config: Pick<Config, 'redisUrl'>
  readonly databaseUrl: string
  readonly installation: string
}

/** Connections for one part of the queue on PostgreSQL. On Redis, each part opens its own connections. */
type PartConnections = Pick<PoolOptions, 'name' | 'max' | 'hasty'>

/** Connections for queuing and fetching slices. Lost commits are harmless, because lost jobs are recreated. */
export const sliceConnections: PartConnections = { name: 'queue', max: 4, hasty: true }

/** Opens one part of the queue with its own connections, which close with the part or if the start fails. */
export async function openPart<Part extends { close(): Promise<void> }>(
  { config, databaseUrl, installation }: QueuePlace,
  connections: PartConnections,
  open: (store: QueueStore, id: string) => Promise<Part>,
): Promise<Part> {
  if (config.redisUrl !== null) return open({ redisUrl: config.redisUrl }, installation)
  const pool = openPool(databaseUrl, { ...connections, schema: 'bullmq' })
  // Each queue worker adds a permanent error listener to the pool, so having many listeners is not a leak.
  pool.setMaxListeners(0)
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

// If many processes start at once on a small machine, the first connection may need several tries.
const firstTries = 3

/** Connects the pool before its first use. The queue does not retry requests on a connection that never opened. */
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

/** Migrates BullMQ's tables in their own schema. The migration can safely run on several hosts at the same time. */
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
      `expected queue tables that this release supports, got tables from a newer release (${cause.message}); use that release or a newer one`,
      { cause },
    )
  } finally {
    await pool.end()
  }
}
