// Opens database connections: the pool, prepared statements and session settings.

import { Writable } from 'node:stream'
import pg, { type PoolClient } from 'pg'
import { MillError, reasonOf, Unreachable, WrongDatabase } from '../errors.ts'
import { awaitedLater } from '../waiting.ts'
import {
  CompiledQuery,
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

// Counts and ids are far below 2^53, so they fit into JavaScript numbers.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number)
// Dates are read as text. The driver would convert a calendar day to an instant in the process's time zone.
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text)

export interface PoolOptions {
  /** Name in `pg_stat_activity`. */
  readonly name: string
  readonly max?: number
  readonly schema?: string
  /** If true, commits do not wait for the disk. Commits lost in a server crash can be recovered from other tables. */
  readonly hasty?: boolean
  /** True for ledger transactions, which lock rows that all workers need and must never hang or lose a commit. */
  readonly ledger?: boolean
  /** If true, transactions are read-only by default. */
  readonly reading?: boolean
}

/**
 * Makes the server release an unresponsive process's locks before other processes conclude that the server is down.
 * `transaction_timeout`, which older servers lack, also ends a transaction that hangs in the middle of a statement.
 */
const ledgerSettings = {
  idle_in_transaction_session_timeout: '1000',
  lock_timeout: '2000',
  transaction_timeout: '30000',
}
/** Servers built without lz4 use their default compression, which takes three times as long for the same size. */
const packing = { default_toast_compression: 'lz4' }
/** Maximum time without a response. A connection is then closed, even if TCP reports no error. */
const ledgerSilenceMs = 15_000
// The server may be configured to acknowledge commits before they are durable. Ledger connections override the
// server's setting. Commits may also wait for a standby.
const ledgerStart = `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`

/** Opens a pool that survives a server restart, and connects on first use. */
export function openPool(url: string, options: PoolOptions): pg.Pool {
  const { schema, hasty, ledger, reading } = options
  const settings: SessionSettings = {
    ...(schema === undefined ? packing : { search_path: schema }),
    ...(hasty === true ? { synchronous_commit: 'off' } : {}),
    ...(ledger === true ? ledgerSettings : {}),
    ...(reading === true ? { default_transaction_read_only: 'on' } : {}),
  }
  // The pool waits for `onConnect` before it uses a new connection, and treats an error in this function as a
  // connection error.
  const settling = { onConnect: (client: pg.ClientBase) => settleSession(client, settings, url) }
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? 4,
    application_name: `querymill ${options.name}`,
    connectionTimeoutMillis: connectWithinMs,
    keepAlive: true,
    // Only our own statements are pipelined. BullMQ sends one statement at a time.
    pipeline: schema === undefined,
    ...(ledger === true ? { query_timeout: ledgerSilenceMs } : {}),
    ...settling,
  })
  // The pool replaces a broken idle connection. Without a listener, a connection's error would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => {
    // Each connection also needs a listener, in case it breaks between two statements. The transaction's next
    // statement reports the failure.
    client.on('error', () => undefined)
    codeBreaks(client, 'query')
    if (ledger === true) void client.query(ledgerStart).catch(() => undefined)
  })
  codeBreaks(pool, 'query')
  codeBreaks(pool, 'connect')
  return pool
}

/** Adds a code to errors for broken connections, because the driver sets none. */
function codeBreaks(owner: object, name: string): void {
  const method: unknown = Reflect.get(owner, name)
  if (typeof method !== 'function')
    throw new TypeError(`expected the driver to have a ${name} method`)
  const coded = (...args: unknown[]): unknown => {
    const answer: unknown = Reflect.apply(method, owner, args)
    // This handler runs before the caller's handlers, so the caller sees the error with its code.
    if (answer instanceof Promise) answer.catch(giveCode)
    return answer
  }
  Reflect.set(owner, name, coded)
}

/** Code for a connection that broke or could not be opened in time. */
export const connectionFailure = '08006'

/** Adds a code to a driver error that has none. A driver error without a code means that a connection broke. */
export function giveCode(error: unknown): void {
  if (!(error instanceof Error) || error.constructor !== Error || 'code' in error) return
  Object.assign(error, { code: connectionFailure })
}

/** Opens a typed database; closing it also ends the pool. Set `byKey` if all statements are repeated key lookups. */
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

/** Settings, by name, for a connection that no other client shares. */
type SessionSettings = Readonly<Record<string, string>>

/** Time limit for connecting. A busy server may take almost 30 seconds to accept a connection. */
const connectWithinMs = 30_000

/** Number of attempts to detect a shared session. If the pooler is busy, one attempt may not be enough. */
const looks = 5

// Applies settings that only some servers support. If a pooler reports its own session number, no settings are applied,
// because another client may get the session.
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
 * Applies the settings to a new connection with statements, because poolers reject or drop settings in the startup
 * message. Throws if a pooler assigns a different session to each transaction.
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
      `expected a dedicated session for each connection to ${host}, got a pooler that assigns a session to each transaction (PgBouncer: pool_mode = transaction or statement); set pool_mode = session for this database, or set DATABASE_URL (MILL_REPLICA_URL, MILL_ANALYST_URL) to PostgreSQL itself`,
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

/** Process id that the server reported when this client connected. */
export function toldPid(client: pg.ClientBase): number {
  return 'processID' in client ? Number(client.processID) : 0
}

async function pidOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(timed('select pg_backend_pid() as pid'))
  return rows[0]?.pid ?? 0
}

function timed(text: string, values: unknown[] = []) {
  return { text, values, query_timeout: connectWithinMs }
}

/** Checks whether the session is shared. An unshared session keeps its process id and serves only this client. */
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
    // A pooler in statement mode rejects transactions. If the pooler has no free session, the caller must wait.
    return error instanceof pg.DatabaseError
  } finally {
    await beside.end()
  }
}

/** Maximum number of cached plans per connection. Uncached statements are planned on each execution. */
const mostPlans = 50
/** Number of uses after which a plan is renewed. This number grows eightfold with each renewal. */
const firstUses = 64
const moreUses = 8

// Only index plans are allowed, so that lookups by key use the same plan for small and large tables. Disabled plan
// types get a huge cost, which would trigger JIT, so JIT is off. Memoize would use the whole document passed to the
// statement as its cache key. Generic plans suffice, because the plan does not depend on the values.
const byKeyOnly = ['seqscan', 'hashjoin', 'mergejoin', 'memoize']
  .map((way) => `set enable_${way} = off; `)
  .concat('set jit = off; set plan_cache_mode = force_generic_plan')
  .join('')

/** A cached plan. It is renewed after `last` uses, because the tables may have grown. */
interface Plan {
  readonly number: number
  uses: number
  last: number
}

/** Sends all statements of one event-loop turn in one write, so that a process that freezes leaves no lock behind. */
function gather(client: PoolClient): void {
  const stream: unknown = Reflect.get(Reflect.get(client, 'connection') ?? {}, 'stream')
  if (!(stream instanceof Writable)) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

function prepare(client: PoolClient): PostgresPoolClient {
  void client.query(byKeyOnly).catch(() => undefined)
  const passed = new Set<string>()
  const plans = new Map<string, Plan>()
  const planOf = (text: string): Plan | undefined => {
    if (plans.size < mostPlans && passed.delete(text)) {
      plans.set(text, { number: plans.size, uses: 0, last: firstUses })
    } else if (plans.size < mostPlans && !plans.has(text)) passed.add(text)
    return plans.get(text)
  }
  function query<Row>(text: string, given: readonly unknown[]): Promise<PostgresQueryResult<Row>>
  function query<Row>(cursor: PostgresCursor<Row>): PostgresCursor<Row>
  function query(text: unknown, given: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new TypeError('expected a statement, got a cursor')
    const values = [...given]
    if (text === 'begin') gather(client)
    const plan = values.length === 0 ? undefined : planOf(text)
    if (plan === undefined) return client.query(text, values)
    plan.uses += 1
    if (plan.uses > plan.last) {
      void client.query(`deallocate ${nameOf(plan)}`).catch(() => undefined)
      plan.last *= moreUses
    }
    return client.query({ name: nameOf(plan), text, values })
  }
  return { query, release: () => client.release() }
}

function nameOf({ number, last }: Plan): string {
  return `plan_${number}_${last}`
}

/**
 * Kysely dialect that caches plans, because planning a short statement takes as long as executing it. Use this dialect
 * only on connections whose statements all look up rows by key.
 */
function preparedDialect(pool: Pool): Dialect {
  const clients = new WeakMap<PoolClient, PostgresPoolClient>()
  const connect = async () => {
    const client = await pool.connect()
    const known = clients.get(client) ?? prepare(client)
    clients.set(client, known)
    return known
  }
  return new PostgresDialect({ pool: { connect, end: () => pool.end() } })
}

type Statement<Row> = RawBuilder<Row> | CompiledQuery<Row>

/** A transaction that sends its statements without waiting for earlier results. */
export interface Trip {
  /** Sends a statement immediately. Postgres runs statements in order. After a failure, all later statements fail. */
  run<Row>(query: Statement<Row>): Promise<readonly Row[]>
  /** Sends the last statement together with the commit, and waits for both. */
  end<Row>(query: Statement<Row>): Promise<readonly Row[]>
}

/**
 * Runs a transaction in as few round trips as possible. A row that all workers need is locked only while Postgres
 * executes statements, not while results are in transit.
 */
export function travel<T>(db: Database, work: (trip: Trip) => Promise<T>): Promise<T> {
  return db.getExecutor().provideConnection(async (connection) => {
    const answers: Promise<unknown>[] = []
    let committed = false
    const send = <Row>(query: CompiledQuery<Row>): Promise<readonly Row[]> => {
      const rows = connection.executeQuery<Row>(query).then((result) => result.rows)
      answers.push(rows)
      // Callers need not await the rows, because the commit reports failures too.
      return awaitedLater(rows)
    }
    const run = <Row>(query: Statement<Row>): Promise<readonly Row[]> => {
      const compiled = 'compile' in query ? query.compile(db) : query
      // The transaction starts with its first statement, and holds no lock or connection before that statement.
      if (answers.length === 0) void send(CompiledQuery.raw('begin'))
      return send(compiled)
    }
    const commit = async (): Promise<void> => {
      if (committed || answers.length === 0) return
      committed = true
      void send(CompiledQuery.raw('commit'))
      // After a failure, Postgres silently turns the commit into a rollback. Only the earlier statements report
      // the error.
      for (const answer of answers) await answer
    }
    const end = async <Row>(query: Statement<Row>): Promise<readonly Row[]> => {
      const rows = run(query)
      await commit()
      return rows
    }
    try {
      const result = await work({ run, end })
      await commit()
      return result
    } catch (error) {
      const settled = await Promise.allSettled(answers)
      if (!committed && settled.length > 0) {
        // If even the rollback fails, the connection is broken, and the pool replaces it.
        await send(CompiledQuery.raw('rollback')).catch(() => undefined)
      }
      // Later errors only report that the transaction was aborted.
      const first = settled.find((each) => each.status === 'rejected')
      throw first === undefined ? error : first.reason
    }
  })
}
