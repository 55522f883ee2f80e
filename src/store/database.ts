import { Kysely, PostgresDialect, sql, type Transaction as KyselyTransaction } from './kysely.ts'
import pg from 'pg'
import { MillError, Unreachable, reasonOf } from '../shared/errors.ts'
import { preparedDialect } from './prepared.ts'
import type { DB } from './schema.ts'
import { settleSession, type SessionSettings } from './session.ts'

/** The tables, typed. */
export type Database = Kysely<DB>

/** The tables, inside of one transaction. */
export type Transaction = KyselyTransaction<DB>

/** Connections to the database, for the rooms that hand them on. */
export type Pool = pg.Pool

// Counts and ids stay far below 2^53, and JavaScript has no other number that JSON can carry.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number)
// A date is a day on a calendar, not an instant: the driver would shift it by the zone of the process.
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text)

export interface PoolOptions {
  /** What `pg_stat_activity` shows. */
  readonly name: string
  readonly max?: number
  /** The schema that unqualified names mean. */
  readonly schema?: string
  readonly statementTimeoutMs?: number
  /** Its commits do not wait for the disk: what a crash of the server loses is found again from the tables. */
  readonly hasty?: boolean
  /** Its transactions take the books that all workers wait for: none of them may stand still, and no commit be lost. */
  readonly ledger?: boolean
  /** Its transactions only read, unless one asks for more. */
  readonly reading?: boolean
}

/**
 * A server lets go of what a silent process holds well before anybody takes it for away. Those that know the last setting
 * end a transaction that a silent process left halfway through a statement as well.
 */
const ledgerSettings = {
  idle_in_transaction_session_timeout: '1000',
  lock_timeout: '2000',
  transaction_timeout: '30000',
}
/** A server that was not built with it packs bodies as it always did: at three times the cost, for the same room. */
const packing = { default_toast_compression: 'lz4' }
/** A connection on which nothing comes back for so long is given up, whatever TCP still hopes for. */
const ledgerSilenceMs = 15_000
// A server that acknowledges what it may lose, by its own settings, must not do so here; one that asks a standby may.
const ledgerStart = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`

/** Opens a pool that survives a restart of the server; nothing is connected yet. */
export function openPool(url: string, options: PoolOptions): pg.Pool {
  const settings = settingsOf(options)
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? 4,
    application_name: `querymill ${options.name}`,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    // BullMQ's own statements wait for each other; ours need not.
    pipeline: options.schema === undefined,
    ...(options.ledger === true ? { query_timeout: ledgerSilenceMs } : {}),
    ...settling(settings, url),
  })
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined)
  // So is one that breaks between two statements of a transaction: the next statement says it.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('connect', (client) => codeBreaks(client, 'query'))
  if (options.ledger === true) {
    pool.on('connect', (client) => void client.query(ledgerStart).catch(() => undefined))
  }
  codeBreaks(pool, 'query')
  codeBreaks(pool, 'connect')
  return pool
}

/** The pool waits for it: nothing is asked before. What it throws is why there is no connection. */
function settling(settings: SessionSettings, url: string) {
  return { onConnect: (client: pg.ClientBase) => settleSession(client, settings, url) }
}

function settingsOf(options: PoolOptions): SessionSettings {
  const { schema, hasty, ledger, reading, statementTimeoutMs } = options
  return {
    ...(schema === undefined ? packing : { search_path: schema }),
    ...(hasty === true ? { synchronous_commit: 'off' } : {}),
    ...(ledger === true ? ledgerSettings : {}),
    ...(statementTimeoutMs === undefined ? {} : { statement_timeout: String(statementTimeoutMs) }),
    ...(reading === true ? { default_transaction_read_only: 'on' } : {}),
  }
}

/** Gives an error without a code, which the driver throws when a connection broke, the code that a server would give. */
function codeBreaks(owner: object, name: string): void {
  const method: unknown = Reflect.get(owner, name)
  if (typeof method !== 'function') throw new TypeError(`expected a method ${name} of the driver`)
  const coded = (...args: unknown[]): unknown => {
    const answer: unknown = Reflect.apply(method, owner, args)
    // Attached before the caller waits, so that the caller finds the code.
    if (answer instanceof Promise) answer.catch(giveCode)
    return answer
  }
  Reflect.set(owner, name, coded)
}

/** A connection that broke, or did not come in time. */
export const connectionFailure = '08006'

/** Names an error of the driver that has no code: it throws such when a connection broke. */
export function giveCode(error: unknown): void {
  if (lacksCode(error)) Object.assign(error, { code: connectionFailure })
}

function lacksCode(error: unknown): error is Error {
  return error instanceof Error && error.constructor === Error && !('code' in error)
}

export interface DatabaseOptions {
  /** Its statements come again and again, and all of them go by key. */
  readonly byKey?: boolean
}

/** The tables of the pipeline over a pool; destroying it ends the pool. */
export function openDatabase(pool: pg.Pool, { byKey = false }: DatabaseOptions = {}): Database {
  const dialect = byKey ? preparedDialect(pool) : new PostgresDialect({ pool })
  return new Kysely<DB>({ dialect })
}

/** Fails with one readable line when the database does not answer. */
export async function probeDatabase(db: Database): Promise<void> {
  try {
    await sql`select 1`.execute(db)
  } catch (cause) {
    if (cause instanceof MillError) throw cause
    throw new Unreachable(
      `expected a PostgreSQL server at DATABASE_URL, got ${reasonOf(cause)}; start it, or correct the address`,
      { cause },
    )
  }
}
