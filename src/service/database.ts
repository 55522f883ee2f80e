// Opens the service's tables, and applies its migrations.

import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { say } from '../base/cli/command.ts'
import { type Config, type Environment, readConfig } from '../base/config.ts'
import { toldPid } from '../base/database/database.ts'
import { codeOf, reasonOf, Unreachable, WrongDatabase } from '../base/errors.ts'
import { root } from '../base/root.ts'
import type { Closers } from '../base/waiting.ts'

export type Tables = Awaited<ReturnType<typeof openTables>>

// Shorter than a request's deadline, so that no statement outlives the response.
const longestSearchMs = 8000
const searchesAtOnce = 4

// Arbitrary key for an advisory lock.
const migrationLock = 7_361_001

const insufficientPrivilege = '42501'

const connection = { application_name: 'querymill service', connectionTimeoutMillis: 30_000 }

/** Applies the migrations, and opens the pools. A lock protects the migrations if several services start at once. */
export async function openTables(connectionString: string, size = 8) {
  const trigramSchema = await prepare(connectionString)
  const open = (max: number, options: string) => {
    const pool = new pg.Pool({
      ...connection,
      connectionString,
      max,
      keepAlive: true,
      options: `-c search_path=service,${trigramSchema} ${options}`,
    })
    // The pool replaces an idle connection that breaks. Without this listener, the error would end the process.
    pool.on('error', () => undefined)
    return pool
  }
  // For keys, credits and health. Their short statements never wait for a search.
  const pool = open(size, '')
  // For searches. The server cancels a statement on these connections if it exceeds a time limit.
  const searches = open(
    searchesAtOnce,
    `-c statement_timeout=${longestSearchMs} -c jit=off -c plan_cache_mode=force_generic_plan`,
  )
  return { pool, searches, close: () => Promise.all([pool.end(), searches.end()]) }
}

/** Returns the address of the database in the settings, or starts the embedded database and returns its address. */
export async function findDatabase({ databaseUrl, home }: Config): Promise<string> {
  if (databaseUrl !== null) return databaseUrl
  const { ensurePostgres } = await import('../base/embedded/postgres.ts')
  return (await ensurePostgres(home, { say })).url
}

export async function openTablesOf(env: Environment, closers: Closers): Promise<Tables> {
  const tables = await openTables(await findDatabase(readConfig(env)), 1)
  return closers.add('tables', tables, (open) => open.close())
}

async function prepare(connectionString: string): Promise<string> {
  const client = new pg.Client({ ...connection, connectionString })
  client.on('error', () => undefined)
  await client.connect().catch((cause: unknown) => {
    const text = `expected a PostgreSQL server at DATABASE_URL, got ${reasonOf(cause)}; start it, or correct the address`
    throw new Unreachable(text, { cause })
  })
  try {
    await refusePooler(client)
    await client.query('select pg_advisory_lock($1)', [migrationLock])
    await migrate(client)
    return await findTrigrams(client)
  } finally {
    await client.end()
  }
}

/**
 * Refuses a connection through a pooler, because poolers drop or reject startup parameters. Behind a pooler, the
 * backend's process ID differs from the process ID in the handshake.
 */
async function refusePooler(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  if (rows[0]?.pid === toldPid(client)) return
  throw new WrongDatabase(
    `expected PostgreSQL itself at ${client.host}:${client.port} for the search service, got a pooler before it; name PostgreSQL itself in DATABASE_URL, or another search API in SEARCH_API_URL`,
  )
}

async function migrate(client: pg.Client): Promise<void> {
  await ensureSchema(client)
  await client.query('set search_path to service')
  await client.query(
    'create table if not exists applied (name text primary key, sha256 text not null, at timestamptz not null default now())',
  )
  const { rows } = await client.query<{ name: string }>('select name from applied')
  const folder = join(root, 'sql', 'service')
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'))
  for (const name of files.toSorted()) {
    if (rows.some((row) => row.name === name)) continue
    const text = readFileSync(join(folder, name), 'utf8')
    const note = `insert into applied (name, sha256) values (${pg.escapeLiteral(name)}, '${hash('sha256', text, 'hex')}')`
    // PostgreSQL runs several statements in one query as one transaction.
    await client.query(`${text};\n${note}`)
  }
}

async function ensureSchema(client: pg.Client): Promise<void> {
  // Checked first: a role without the CREATE privilege on the database would get an error even if the schema exists.
  const { rowCount } = await client.query("select from pg_namespace where nspname = 'service'")
  if (rowCount === 1) return
  await client.query('create schema service').catch((cause: unknown) => {
    if (codeOf(cause) !== insufficientPrivilege) throw cause
    throw new WrongDatabase(
      'expected a role that may make the schema "service", got one that may not; have its owner run: create schema service authorization ROLE',
      { cause },
    )
  })
}

/** Installs the pg_trgm extension unless the database already has it; returns the extension's schema. */
async function findTrigrams(client: pg.Client): Promise<string> {
  const install = 'create extension if not exists pg_trgm with schema service'
  await client.query(install).catch((cause: unknown) => {
    const text = `expected the extension pg_trgm, got ${reasonOf(cause)}; have an administrator run: create extension pg_trgm`
    throw new WrongDatabase(text, { cause })
  })
  const { rows } = await client.query<{ schema: string }>(
    "select extnamespace::regnamespace::text as schema from pg_extension where extname = 'pg_trgm'",
  )
  return rows[0]?.schema ?? 'service'
}
