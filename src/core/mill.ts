// Opens the components that commands share: settings, database, queue and API.

import type { Config } from '../base/config.ts'
import { openDatabase, openPool, type Pool, probeDatabase } from '../base/database/database.ts'
import { applyViews, checkDatabase, migrateDatabase } from '../base/database/migrate.ts'
import { ensureReader } from '../base/database/reader-role.ts'
import { letGo, reaching } from '../base/database/trouble.ts'
import { ensurePostgres } from '../base/embedded/postgres.ts'
import { ensureService } from '../base/embedded/service.ts'
import type { Closers } from '../base/waiting.ts'
import type { SliceQueue } from './queue/slice-jobs.ts'
import { installationId } from './queue/open-slices.ts'
import type { QueuePlace } from './queue/queue.ts'

/** Components that commands share, closed when the command ends. */
export type Mill = Readonly<Awaited<ReturnType<typeof openMill>>>

interface MillOptions {
  readonly config: Config
  readonly closers: Closers
  readonly say: (line: string) => void
  /** Name in `pg_stat_activity`. */
  readonly name: string
  /** Number of database connections, excluding the queue's own pool. */
  readonly connections?: number
  /** True if the process always runs the same statements, which look up rows by key. */
  readonly byKey?: boolean
  /** True if the process only reads. The database rejects all changes by a read-only process. */
  readonly reading?: boolean
  /** If true, the process serves analysts, and reads from the replica if there is one. A replica may lag slightly. */
  readonly behind?: boolean
}

export const workerPool = { byKey: true } as const

/** Opens the components. Starts and migrates the embedded database; a configured database must already be migrated. */
export async function openMill(options: MillOptions) {
  const { config, closers } = options
  const { name, connections: max = 4, byKey = false, reading = false, behind = false } = options
  const given = (behind ? config.replicaUrl : null) ?? config.databaseUrl
  const databaseUrl = given ?? (await startEmbedded(options))
  const pool = openPool(databaseUrl, { name, max, ledger: byKey, reading })
  const db = closers.add('the database', openDatabase(pool, { byKey }), (open) =>
    letGo(() => open.destroy()),
  )
  await probeDatabase(db)
  if (given !== null) await reaching('the database', () => checkDatabase(db))
  const installation = await reaching('the database', () => installationId(db))
  let queue: Promise<SliceQueue> | undefined
  return {
    config,
    db,
    pool,
    databaseUrl,
    /** This database's unique id. */
    installation,
    supplier: supplierOf(config),
    /** Opens the queue on first use. */
    queue: () => (queue ??= openSlices(options, { config, databaseUrl, installation })),
    /** Returns the API's URL and key. Starts the bundled service if no API is configured. */
    api: async () => config.api ?? ensureService({ home: config.home, databaseUrl }),
  }
}

/** Migrates our tables, the views and BullMQ's tables. Returns the names of our applied migrations. */
export async function migrateAll(pool: Pool, databaseUrl: string): Promise<readonly string[]> {
  const applied = await migrateDatabase(pool)
  const views = await applyViews(pool)
  const { migrateQueue } = await import('./queue/queue.ts')
  await migrateQueue(databaseUrl)
  return views.length === 0 ? applied : [...applied, `${views.length} views`]
}

async function startEmbedded({ config, say }: MillOptions): Promise<string> {
  const { url } = await ensurePostgres(config.home, { say })
  // A read-only command's connections cannot run migrations, so this function opens its own pool.
  const pool = openPool(url, { name: 'migrate', max: 2 })
  try {
    await migrateAll(pool, url)
    await ensureReader(pool)
  } finally {
    await pool.end()
  }
  return url
}

async function openSlices({ closers }: MillOptions, place: QueuePlace): Promise<SliceQueue> {
  // Loads the module on first use, because most commands need no queue.
  const { openPart, sliceConnections } = await import('./queue/queue.ts')
  const { openQueue } = await import('./queue/slice-jobs.ts')
  const queue = await reaching('the queue', () => openPart(place, sliceConnections, openQueue))
  return closers.add('the queue', queue, (opened) => opened.close())
}

/** The API from which answers are bought, and the account that pays. */
export interface Supplier {
  readonly origin: 'live' | 'test' | 'sandbox'
  /** Id of the API, which is stored with each answer, because only answers from the same API are reused. */
  readonly api: string
  readonly account: string
}

/** Returns the account, and the origin and API to store with answers. */
export function supplierOf(config: Config): Supplier {
  if (config.api === null) {
    return { origin: 'sandbox', api: 'bundled', account: config.account ?? 'bundled' }
  }
  const { url, key } = config.api
  const path = url.pathname.replace(/\/+$/, '')
  const origin = key.reveal().startsWith('sk_test_') ? 'test' : 'live'
  return { origin, api: `${url.host}${path}`, account: config.account ?? url.host }
}
