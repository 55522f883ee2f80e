// The PostgreSQL server for a test run. TEST_DATABASE_URL=postgres://… names one that is already running (its user must
// be allowed to create databases); otherwise an embedded one is started in a temporary home and ended afterwards.
import { rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import type { Pool } from 'pg'
import { processEnvironment } from '../../src/base/config.ts'
import { ensurePostgres, stopPostgres } from '../../src/base/embedded/postgres.ts'
import { migrateAll } from '../../src/core/mill.ts'
import { openPool } from '../../src/base/database/database.ts'
import { endAfterUs } from './leftovers.ts'
import { temporaryFolder, withDatabase } from './place.ts'

/** State shared by the tests in one run. */
export interface Server {
  /** Any database on the server, for creating others. */
  readonly adminUrl: string
  /** A migrated database that others are copied from. */
  readonly template: string
  readonly close: () => Promise<void>
}

/** Starts or finds the server, and prepares the database that tests are copied from. */
export async function openServer(): Promise<Server> {
  const given = processEnvironment()['TEST_DATABASE_URL']
  if (given !== undefined && given !== '') return prepare(given, async () => undefined)
  const home = temporaryFolder('postgres', quickPlace())
  endAfterUs(home)
  const end = async () => {
    await stopPostgres(home)
    rmSync(home, { recursive: true, force: true })
  }
  try {
    // Test data may be lost if the machine crashes. No table exists long enough to need autovacuum, which would connect
    // to each of many databases.
    const tuning = {
      ...{ fsync: 'off', full_page_writes: 'off', max_connections: '200' },
      autovacuum: 'off',
    }
    return await prepare((await ensurePostgres(home, { tuning })).url, end)
  } catch (error) {
    await end()
    throw error
  }
}

/**
 * A folder in memory if there is enough memory. Each test creates and drops a database, a folder of hundreds of files.
 * After many deletions, ext4 becomes slow at creating the next folder, which took most of the test time.
 */
function quickPlace(): string {
  const memory = '/dev/shm'
  const needed = 4 * 2 ** 30
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > needed && freemem() > 2 * needed ? memory : tmpdir()
  } catch {
    return tmpdir() // no such folder: another system
  }
}

async function prepare(adminUrl: string, end: () => Promise<void>): Promise<Server> {
  const template = `querymill_test_${process.pid}_${Date.now().toString(36)}`
  const admin = openPool(adminUrl, { name: 'tests', max: 1 })
  // From template0, for the same encoding and sort order, whatever the server's configuration.
  await admin.query(`create database ${template} template template0 encoding 'UTF8'`)
  const url = withDatabase(adminUrl, template)
  const pool = openPool(url, { name: 'tests', max: 2 })
  try {
    await migrateAll(pool, url)
  } finally {
    await pool.end()
  }
  return { adminUrl, template, close: () => dropAll(admin, template).then(end) }
}

/** Removes databases that a test could not drop, because it failed or was killed. */
async function dropAll(admin: Pool, template: string): Promise<void> {
  const { rows } = await admin.query<{ name: string }>(
    'select datname as name from pg_database where starts_with(datname, $1)',
    [template],
  )
  for (const { name } of rows) await admin.query(`drop database if exists ${name} with (force)`)
  await admin.end()
}
