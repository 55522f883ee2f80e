// Opens the typed database: one pool, prepared statements, session settings.

import { Writable } from 'node:stream'
import pg, { type PoolClient } from 'pg'
import { MillError, reasonOf, Unreachable, WrongDatabase } from '../errors.ts'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPoolClient,
  type PostgresQueryResult,
  type RawBuilder,
  sql,
  type Transaction as KyselyTransaction,
} from './kysely.ts'
import type { DB } from './schema.ts'

export type Database = Kysely<DB>

export type Transaction = KyselyTransaction<DB>

export type Pool = pg.Pool

// Counts and ids are far below 2^53, and other number types can't be written as JSON.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number)
// A date is read as text, because it is a calendar day. The driver would read it as an instant and shift it by the
// process's time zone.
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text)

export interface PoolOptions {
  /** Name in `pg_stat_activity`. */
  readonly name: string
  readonly max?: number
  readonly schema?: string
  readonly statementTimeoutMs?: number
  /** If true, commits do not wait for the disk. Commits lost in a server crash are recovered from other tables. */
  readonly hasty?: boolean
  /**
   * If true, transactions lock rows that all workers wait for, so no transaction may hang and no commit may be lost.
   */
  readonly ledger?: boolean
  /** If true, transactions are read-only unless a transaction requests write access. */
  readonly reading?: boolean
}

/**
 * Makes the server release the locks of an unresponsive process well before other processes conclude that the server is
 * unreachable. `transaction_timeout`, which older servers lack, also ends a transaction that stopped in the middle of a
 * statement.
 */
const ledgerSettings = {
  idle_in_transaction_session_timeout: '1000',
  lock_timeout: '2000',
  transaction_timeout: '30000',
}
/** A server built without lz4 uses its default compression, at three times the cost for the same size. */
const packing = { default_toast_compression: 'lz4' }
/** Time without any response after which a connection is given up, regardless of what TCP reports. */
const ledgerSilenceMs = 15_000
// A server that is configured to acknowledge commits before they are durable must not do so on these connections.
// Waiting for a standby is allowed.
const ledgerStart = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`

/** Opens a pool that survives a server restart. The pool connects on first use. */
export function openPool(url: string, options: PoolOptions): pg.Pool {
  const settings = settingsOf(options)
  // The pool waits for this function before it uses a new connection, and reports its error as the connection error.
  const settling = {
    onConnect: (client: pg.ClientBase) => settleSession(client, settings, url),
  }
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? 4,
    application_name: `querymill ${options.name}`,
    connectionTimeoutMillis: connectWithinMs,
    keepAlive: true,
    // Our own statements may be pipelined. BullMQ's statements are sequential.
    pipeline: options.schema === undefined,
    ...(options.ledger === true ? { query_timeout: ledgerSilenceMs } : {}),
    ...settling,
  })
  // The pool replaces an idle connection that breaks. Without a listener, its error would end the process.
  pool.on('error', () => undefined)
  // A connection that breaks between two statements of a transaction needs a listener for the same reason. The next
  // statement of the transaction fails.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('connect', (client) => codeBreaks(client, 'query'))
  if (options.ledger === true) {
    pool.on('connect', (client) => void client.query(ledgerStart).catch(() => undefined))
  }
  codeBreaks(pool, 'query')
  codeBreaks(pool, 'connect')
  return pool
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

/** Adds a code to the errors that the driver throws without a code when a connection breaks. */
function codeBreaks(owner: object, name: string): void {
  const method: unknown = Reflect.get(owner, name)
  if (typeof method !== 'function')
    throw new TypeError(`expected the driver to have a method ${name}`)
  const coded = (...args: unknown[]): unknown => {
    const answer: unknown = Reflect.apply(method, owner, args)
    // The handler is attached before the caller awaits, so that the caller finds the code on the error.
    if (answer instanceof Promise) answer.catch(giveCode)
    return answer
  }
  Reflect.set(owner, name, coded)
}

/** Code for a connection that broke or was not established in time. */
export const connectionFailure = '08006'

/** Adds a code to a driver error that has no code. Such an error means that a connection broke. */
export function giveCode(error: unknown): void {
  if (!(error instanceof Error) || error.constructor !== Error || 'code' in error) return
  Object.assign(error, { code: connectionFailure })
}

/**
 * Opens the typed database on a pool. Destroying the database ends the pool. `byKey` is true if the process repeats the
 * same statements, which all look rows up by key.
 */
export function openDatabase(pool: pg.Pool, { byKey = false } = {}): Database {
  const dialect = byKey ? preparedDialect(pool) : new PostgresDialect({ pool })
  return new Kysely<DB>({ dialect })
}

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

/** Session settings by name. They are applied once it is known that no other client uses the session. */
type SessionSettings = Readonly<Record<string, string>>

/** Time after which a server that does not respond is given up. Connecting to a busy server may take almost as long. */
const connectWithinMs = 30_000

/**
 * Number of checks for a shared session. One check is not enough, because a busy pooler may hide the sharing by chance.
 */
const looks = 5

// Settings that only some servers support are applied here, after connecting. If a pooler has reported its own session
// number, nothing is set, because another client may get the session.
const settle = `
select pg_backend_pid() as pid, (
  select count(set_config(name, value, false))
  from json_each_text($1) as given (name, value)
  where pg_backend_pid() = $2
    and exists (
      select from pg_settings s where s.name = given.name and (s.enumvals is null or given.value = any(s.enumvals))
    )
)`

/**
 * Applies the settings to a new connection with statements, because poolers reject or drop them in the startup message.
 * Throws if a pooler uses a different session for each transaction.
 */
export async function settleSession(
  client: pg.ClientBase,
  settings: SessionSettings,
  address: string,
): Promise<void> {
  const told = toldPid(client)
  if (await isSet(client, settings, told)) return
  if (await isShared(client, address)) {
    const { host } = new URL(address)
    throw new WrongDatabase(
      `expected a dedicated session for each connection to ${host}, got a pooler that assigns one to each transaction (PgBouncer: pool_mode = transaction or statement); set pool_mode = session for this database, or set DATABASE_URL (MILL_REPLICA_URL, MILL_ANALYST_URL) to PostgreSQL itself`,
    )
  }
  await isSet(client, settings, await pidOf(client))
}

async function isSet(client: pg.ClientBase, settings: SessionSettings, pid: number) {
  const { rows } = await client.query<{ pid: number }>(
    timed(settle, [JSON.stringify(settings), pid]),
  )
  return rows[0]?.pid === pid
}

/** Process id of the server's session, as the server reported it when this client connected. */
export function toldPid(client: pg.ClientBase): number {
  return 'processID' in client ? Number(client.processID) : 0
}

async function pidOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(timed('select pg_backend_pid() as pid'))
  return rows[0]?.pid ?? 0
}

function timed(text: string, values: unknown[] = []): pg.QueryConfig {
  const query = { text, values, query_timeout: connectWithinMs }
  return query
}

/**
 * Checks whether the session is shared: an exclusive session stays the same across transactions and is not given to
 * other clients.
 */
async function isShared(here: pg.ClientBase, address: string): Promise<boolean> {
  const beside = new pg.Client({
    connectionString: address,
    application_name: 'querymill look',
    connectionTimeoutMillis: connectWithinMs,
  })
  beside.on('error', () => undefined)
  await beside.connect()
  try {
    for (let look = 0; look < looks; look += 1) {
      const before = await pidOf(here)
      await beside.query(timed('begin'))
      const theirs = await pidOf(beside)
      const after = await pidOf(here)
      await beside.query(timed('commit'))
      if (before !== after || before === theirs) return true
    }
    return false
  } catch (error) {
    // A pooler in statement mode rejects transactions. If no session is available, the caller must wait for a session.
    return error instanceof pg.DatabaseError
  } finally {
    await beside.end()
  }
}

/** Maximum number of cached plans per connection. Further statements are planned each time. */
const mostPlans = 50
/** Number of uses after which a plan is renewed. The next renewal comes after eight times as many uses, and so on. */
const firstUses = 64
const moreUses = 8

// With only index plans allowed, a statement that looks rows up by key gets the same plan for small and large tables.
// Disabled plan types get a huge cost, which would trigger JIT compilation and take seconds per statement, so JIT is
// off. Memoize is disabled because its cache key would be the whole document passed to the statement. Generic plans
// suffice, because such a statement looks rows up by key, whatever the values.
const byKeyOnly = ['seqscan', 'hashjoin', 'mergejoin', 'memoize']
  .map((way) => `set enable_${way} = off; `)
  .concat('set jit = off; set plan_cache_mode = force_generic_plan')
  .join('')

/** A plan cached by a connection. It is renewed after `last` uses, because a table may have grown since it was made. */
interface Plan {
  readonly number: number
  uses: number
  last: number
}

/**
 * Sends all statements of one event-loop turn in a single write. A transaction sent this way arrives as a whole, so a
 * process that freezes leaves no lock behind.
 */
function gather(client: PoolClient): void {
  const stream: unknown = Reflect.get(Reflect.get(client, 'connection') ?? {}, 'stream')
  if (!(stream instanceof Writable)) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

class PreparedClient implements PostgresPoolClient {
  readonly #client: PoolClient
  readonly #passed = new Set<string>()
  readonly #plans = new Map<string, Plan>()

  constructor(client: PoolClient) {
    this.#client = client
    void client.query(byKeyOnly).catch(() => undefined)
  }

  query<Row>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<Row>>
  query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>
  query<Row>(
    text: string | PostgresCursor<Row>,
    values: readonly unknown[] = [],
  ): PostgresCursor<Row> | Promise<PostgresQueryResult<Row>> {
    if (typeof text !== 'string') throw new TypeError('expected a statement, got a cursor')
    return this.#send(text, [...values]) as Promise<PostgresQueryResult<Row>>
  }

  release(): void {
    this.#client.release()
  }

  #send(text: string, values: unknown[]): Promise<unknown> {
    if (text === 'begin') gather(this.#client)
    const plan = values.length === 0 ? undefined : this.#planOf(text)
    if (plan === undefined) return this.#client.query(text, values)
    plan.uses += 1
    if (plan.uses > plan.last) {
      void this.#client.query(`deallocate ${nameOf(plan)}`).catch(() => undefined)
      plan.last *= moreUses
    }
    return this.#client.query({ name: nameOf(plan), text, values })
  }

  #planOf(text: string): Plan | undefined {
    const plans = this.#plans
    if (plans.size < mostPlans && this.#passed.delete(text)) {
      plans.set(text, { number: plans.size, uses: 0, last: firstUses })
    } else if (plans.size < mostPlans && !plans.has(text)) this.#passed.add(text)
    return plans.get(text)
  }
}

function nameOf({ number, last }: Plan): string {
  return `plan_${number}_${last}`
}

/**
 * Kysely's dialect with cached plans for repeated statements: planning a short statement takes as long as executing it.
 * Use the dialect only for connections whose statements all look rows up by key.
 */
function preparedDialect(pool: Pool): Dialect {
  const clients = new WeakMap<PoolClient, PreparedClient>()
  const connect = async () => {
    const client = await pool.connect()
    const known = clients.get(client) ?? new PreparedClient(client)
    clients.set(client, known)
    return known
  }
  return new PostgresDialect({ pool: { connect, end: () => pool.end() } })
}

/** A transaction whose statements are sent without waiting for earlier results. */
export type Trip = Pick<Sent, 'run' | 'end'>

/**
 * Runs a transaction in as few round trips as its decisions need. The row that all workers wait for is locked only
 * while Postgres works. It is not locked while a result travels to this process.
 */
export function travel<T>(db: Database, work: (trip: Trip) => Promise<T>): Promise<T> {
  return db.getExecutor().provideConnection(async (connection) => {
    const sent = new Sent(db, connection)
    try {
      const result = await work(sent)
      await sent.commit()
      return result
    } catch (error) {
      throw await sent.undo(error)
    }
  })
}

class Sent {
  readonly #db: Database
  readonly #connection: DatabaseConnection
  readonly #answers: Promise<unknown>[] = []
  #committed = false

  constructor(db: Database, connection: DatabaseConnection) {
    this.#db = db
    this.#connection = connection
  }

  /**
   * Sends a statement at once. Postgres executes the statements in order. After a failure, the following statements
   * fail as well.
   */
  run<Row>(query: RawBuilder<Row> | CompiledQuery<Row>): Promise<readonly Row[]> {
    const compiled = 'compile' in query ? query.compile(this.#db) : query
    // The transaction starts with its first statement, so that it holds no lock or connection before that statement.
    if (this.#answers.length === 0) void this.#send(CompiledQuery.raw('begin'))
    return this.#send(compiled)
  }

  /** Sends the last statement together with the commit. Resolves when both are done. */
  async end<Row>(query: RawBuilder<Row> | CompiledQuery<Row>): Promise<readonly Row[]> {
    const rows = this.run(query)
    await this.commit()
    return rows
  }

  async commit(): Promise<void> {
    if (this.#committed || this.#answers.length === 0) return
    this.#committed = true
    void this.#send(CompiledQuery.raw('commit'))
    // After a failure, Postgres silently turns the commit into a rollback. The results of the earlier statements
    // contain the error.
    for (const answer of this.#answers) await answer
  }

  /** Returns the first failure. Later failures only say that the transaction was aborted. */
  async undo(thrown: unknown): Promise<unknown> {
    const answers = await Promise.allSettled(this.#answers)
    if (!this.#committed && answers.length > 0) {
      // If even the rollback fails, the connection is broken, and the pool replaces it.
      await this.#send(CompiledQuery.raw('rollback')).catch(() => undefined)
    }
    const first = answers.find(({ status }) => status === 'rejected')
    return first === undefined ? thrown : (first as PromiseRejectedResult).reason
  }

  #send<Row>(query: CompiledQuery<Row>): Promise<readonly Row[]> {
    const rows = this.#connection.executeQuery<Row>(query).then((result) => result.rows)
    this.#answers.push(rows)
    // Callers need not await the rows, because the commit also reports a failure.
    rows.catch(() => undefined)
    return rows
  }
}
