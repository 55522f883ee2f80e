// Opens the service's tables, applies its migrations, and runs its search statements.

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

const connection = { application_name: 'querymill service', connectionTimeoutMillis: 30_000 }

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
    // Without this listener, an idle connection that breaks would end the process.
    pool.on('error', () => undefined)
    return pool
  }
  // Short statements, such as those for keys and credits, never wait for a search.
  const pool = open(size, '')
  // The time limit is shorter than a request's deadline, so that no statement outlives the response.
  const searchOptions = '-c statement_timeout=8000 -c jit=off -c plan_cache_mode=force_generic_plan'
  const searches = open(8, searchOptions)
  return { pool, searches, close: () => Promise.all([pool.end(), searches.end()]) }
}

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
    // Services that start together migrate one at a time. The lock's key is arbitrary.
    await client.query('select pg_advisory_lock(7361001)')
    await migrate(client)
    return await findTrigrams(client)
  } finally {
    await client.end()
  }
}

/** Refuses a pooler, because poolers drop startup parameters. A pooler's handshake has a different process ID. */
async function refusePooler(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  if (rows[0]?.pid === toldPid(client)) return
  throw new WrongDatabase(
    `expected a direct connection to PostgreSQL at ${client.host}:${client.port} for the search service, got a pooler; set DATABASE_URL to PostgreSQL itself, or SEARCH_API_URL to another search API`,
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
    // PostgreSQL runs the statements of one query in one transaction.
    await client.query(`${text};\n${note}`)
  }
}

async function ensureSchema(client: pg.Client): Promise<void> {
  // The schema is checked first, because a role without the CREATE privilege gets an error even if the schema exists.
  const { rowCount } = await client.query("select from pg_namespace where nspname = 'service'")
  if (rowCount === 1) return
  await client.query('create schema service').catch((cause: unknown) => {
    const insufficientPrivilege = '42501'
    if (codeOf(cause) !== insufficientPrivilege) throw cause
    throw new WrongDatabase(
      'the database role may not create the schema "service"; have the database owner run: create schema service authorization ROLE',
      { cause },
    )
  })
}

/** Installs the pg_trgm extension unless the database already has it; returns the extension's schema. */
async function findTrigrams(client: pg.Client): Promise<string> {
  const install = 'create extension if not exists pg_trgm with schema service'
  await client.query(install).catch((cause: unknown) => {
    const text = `the extension pg_trgm could not be installed (${reasonOf(cause)}); have an administrator run: create extension pg_trgm`
    throw new WrongDatabase(text, { cause })
  })
  const { rows } = await client.query<{ schema: string }>(
    "select extnamespace::regnamespace::text as schema from pg_extension where extname = 'pg_trgm'",
  )
  return rows[0]?.schema ?? 'service'
}

export interface Statements {
  rows<Row extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<Row[]>
}

/** Runs a search's statements on a separate connection. Aborting the signal cancels the current statement. */
export async function withStatements<T>(
  { searches, pool }: Pick<Tables, 'searches' | 'pool'>,
  signal: AbortSignal,
  work: (run: Statements) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const client = await searches.connect()
  const cancel = () => {
    pool.query('select pg_cancel_backend($1)', [toldPid(client)]).catch(() => undefined)
  }
  signal.addEventListener('abort', cancel, { once: true })
  let broken = true
  try {
    signal.throwIfAborted()
    const result = await work({ rows: async (query) => (await client.query(query)).rows as never })
    broken = false
    return result
  } finally {
    signal.removeEventListener('abort', cancel)
    // After a cancel request, the connection is closed, because a late request could cancel the next search.
    client.release(broken || signal.aborted)
  }
}
