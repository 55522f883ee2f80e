// const database = await freshDatabase() → { url, pool, db, close }: a migrated, empty database for the caller, created
// in about 50 ms. `close` drops it; otherwise, it remains until the run ends. `freshUrl()` returns only the address.
import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { inject } from 'vitest'
import { type Database, openDatabase, openPool } from '../../src/base/database/database.ts'
import { withDatabase } from './place.ts'

export interface FreshDatabase {
  readonly url: string
  readonly pool: Pool
  readonly db: Database
  readonly close: () => Promise<void>
}

/** A migrated database that only the caller uses. */
export async function freshDatabase(): Promise<FreshDatabase> {
  return open(await freshUrl())
}

/** The same, with the tables and the shipped corpus of the service. */
export async function stockedDatabase(): Promise<FreshDatabase> {
  return open(await stockedUrl())
}

/** A copy of a database that has no connections. */
export async function copyOf(url: string): Promise<FreshDatabase> {
  return open(await create(new URL(url).pathname.slice(1)))
}

async function open(url: string): Promise<FreshDatabase> {
  const pool = openPool(url, { name: 'test', max: 8 })
  const close = async () => {
    await pool.end()
    await administer(`drop database if exists ${new URL(url).pathname.slice(1)} with (force)`)
  }
  return { url, pool, db: openDatabase(pool), close }
}

/** The address of a migrated database that only the caller uses; dropped when the run ends. */
export function freshUrl(): Promise<string> {
  return create(inject('template'))
}

/** The same, with the tables and the shipped corpus of the service: a copy takes a fiftieth of the time of loading. */
export async function stockedUrl(): Promise<string> {
  return create(await stockedTemplate())
}

/** The database with the corpus, which the first worker that asks for it fills while the others wait. */
async function stockedTemplate(): Promise<string> {
  const template = `${inject('template')}_stocked`
  const pool = openPool(inject('adminUrl'), { name: 'tests', max: 1 })
  const client = await pool.connect()
  try {
    await client.query('select pg_advisory_lock(hashtext($1))', [template])
    const found = await client.query('select from pg_database where datname = $1', [template])
    if (found.rowCount === 1) return template
    const url = await freshUrl()
    await stock(url)
    await client.query(`alter database ${new URL(url).pathname.slice(1)} rename to ${template}`)
    return template
  } finally {
    client.release(true)
    await pool.end()
  }
}

async function stock(url: string): Promise<void> {
  const { openTables } = await import('../../src/service/database.ts')
  const { loadShipped } = await import('../../src/service/corpus/load.ts')
  const tables = await openTables(url, 1)
  try {
    await loadShipped(tables.pool)
    // Copies start with the statistics that a server gathers automatically after a while.
    await tables.pool.query('analyze')
  } finally {
    await tables.close()
  }
}

/** The address of a database without any table. */
export function emptyUrl(): Promise<string> {
  return create('template0')
}

async function create(template: string): Promise<string> {
  const name = `${inject('template')}_${randomBytes(5).toString('hex')}`
  await administer(`create database ${name} template ${template} strategy file_copy`)
  return withDatabase(inject('adminUrl'), name)
}

let administration: Pool | undefined

/**
 * One connection for all databases that this test worker creates and drops: connecting costs the server more than
 * copying the template does. The pool closes it after ten idle seconds.
 */
async function administer(statement: string): Promise<void> {
  administration ??= openPool(inject('adminUrl'), { name: 'tests', max: 1 })
  await administration.query(statement)
}
