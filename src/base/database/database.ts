// Opens the tables, typed: one pool, prepared statements, settings of each session.

import { Writable } from 'node:stream'
import pg, { type Pool as PgPool, type PoolClient } from 'pg'
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
  /** Name in `pg_stat_activity`. */
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
    connectionTimeoutMillis: connectWithinMs,
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

interface DatabaseOptions {
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

/** Settings of a session by name, made once it is known to be ours. */
type SessionSettings = Readonly<Record<string, string>>

/** A server that says nothing while a connection is made and set up is given up; a busy one may take that long. */
const connectWithinMs = 30_000

/** Looks so often whether two connections get in each other's way: a pooler that serves others too may hide it once. */
const looks = 5

// Settings, and values of them, that only some servers know are made where they are known. A pooler tells a number of its own for the
// session: nothing is set in one that may be somebody else's in the next moment.
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
 * Makes the settings of a new connection, by statements: poolers refuse them, or drop them, where they are sent with the
 * greeting. Fails where a pooler gives each transaction another session.
 */
export async function settleSession(
  client: pg.ClientBase,
  settings: SessionSettings,
  address: string,
): Promise<void> {
  const told = toldPid(client)
  if (await isSet(client, settings, told)) return
  if (await isShared(client, address)) throw refused(address)
  await isSet(client, settings, await pidOf(client))
}

async function isSet(client: pg.ClientBase, settings: SessionSettings, pid: number) {
  const { rows } = await client.query<{ pid: number }>(
    timed(settle, [JSON.stringify(settings), pid]),
  )
  return rows[0]?.pid === pid
}

/** The number of the session, as it was told when the connection was made. */
function toldPid(client: pg.ClientBase): number {
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

/** A session that is ours is the same in every transaction, and nobody else is given it meanwhile. */
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
    // A pooler that shares single statements refuses a transaction. Whoever gets no session at all has to wait for one.
    return error instanceof pg.DatabaseError
  } finally {
    await beside.end()
  }
}

function refused(address: string): WrongDatabase {
  const { host } = new URL(address)
  return new WrongDatabase(
    `expected a session of its own for each connection to ${host}, got a pooler that gives each transaction another one (PgBouncer: pool_mode = transaction or statement); set pool_mode = session for this database there, or name PostgreSQL itself in DATABASE_URL (MILL_REPLICA_URL, MILL_ANALYST_URL)`,
  )
}

/** A connection keeps the plans of so many statements; what comes beyond them is planned each time. */
const mostPlans = 50
/** A plan is made anew after so many uses, then after eight times as many, and so on. */
const firstUses = 64
const moreUses = 8

// The plan of a statement by key is the same for a small table and a large one, if nothing else is allowed.
// Disabled plan types get a huge cost, which would start JIT compilation and take seconds for each statement.
// What was looked up is not remembered either: it would be remembered by the whole document that a statement is given.
// And what is by key for some values is so for all: no plan is made for the values of one time.
const byKeyOnly = ['seqscan', 'hashjoin', 'mergejoin', 'memoize']
  .map((way) => `set enable_${way} = off; `)
  .concat('set jit = off; set plan_cache_mode = force_generic_plan')
  .join('')

/** A plan that a connection keeps. */
class Plan {
  readonly #number: number
  #uses = 0
  #last = firstUses

  constructor(number: number) {
    this.#number = number
  }

  get name(): string {
    return `plan_${this.#number}_${this.#last}`
  }

  /** Counts a use; gives back the name of the plan that is old now. A table may have grown since it was made. */
  use(): string | null {
    this.#uses += 1
    if (this.#uses <= this.#last) return null
    const old = this.name
    this.#last *= moreUses
    return old
  }
}

/**
 * Sends all statements of one turn in one write: a transaction that is sent whole arrives whole, and a process that is
 * frozen in between leaves no lock behind.
 */
function gather(client: PoolClient): void {
  const stream: unknown = Reflect.get(Reflect.get(client, 'connection') ?? {}, 'stream')
  if (!(stream instanceof Writable)) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

/** A connection of the driver as kysely uses it, which keeps the plan of a statement that comes again. */
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
    const old = plan.use()
    if (old !== null) void this.#client.query(`deallocate ${old}`).catch(() => undefined)
    return this.#client.query({ name: plan.name, text, values })
  }

  #planOf(text: string): Plan | undefined {
    const plans = this.#plans
    if (plans.size < mostPlans && this.#passed.delete(text)) plans.set(text, new Plan(plans.size))
    else if (plans.size < mostPlans && !plans.has(text)) this.#passed.add(text)
    return plans.get(text)
  }
}

/**
 * Kysely's dialect over connections that keep the plans of statements that come again: for a short one planning costs as
 * much as running does. For connections whose statements all go by key.
 */
function preparedDialect(pool: PgPool): Dialect {
  const clients = new WeakMap<PoolClient, PreparedClient>()
  const connect = async () => {
    const client = await pool.connect()
    const known = clients.get(client) ?? new PreparedClient(client)
    clients.set(client, known)
    return known
  }
  return new PostgresDialect({ pool: { connect, end: () => pool.end() } })
}

/** A transaction whose statements need not wait for the answers of those before them. */
export interface Trip {
  /** Sends a statement at once; Postgres takes them in order, and after a failure those behind it fail as well. */
  run<Row>(query: RawBuilder<Row> | CompiledQuery<Row>): Promise<readonly Row[]>
  /** Sends the last statement with the commit behind it; resolves when both are done. */
  end<Row>(query: RawBuilder<Row> | CompiledQuery<Row>): Promise<readonly Row[]>
}

/**
 * One transaction in as few turns as its decisions need. The row that all workers wait for is locked while Postgres
 * works, and not while each single answer travels and waits to be read by this process.
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

class Sent implements Trip {
  readonly #db: Database
  readonly #connection: DatabaseConnection
  readonly #answers: Promise<unknown>[] = []
  #committed = false

  constructor(db: Database, connection: DatabaseConnection) {
    this.#db = db
    this.#connection = connection
  }

  run<Row>(query: RawBuilder<Row> | CompiledQuery<Row>): Promise<readonly Row[]> {
    const compiled = 'compile' in query ? query.compile(this.#db) : query
    // The transaction begins with its first statement, so that it holds nothing before.
    if (this.#answers.length === 0) void this.#send(CompiledQuery.raw('begin'))
    return this.#send(compiled)
  }

  async end<Row>(query: RawBuilder<Row> | CompiledQuery<Row>): Promise<readonly Row[]> {
    const rows = this.run(query)
    await this.commit()
    return rows
  }

  async commit(): Promise<void> {
    if (this.#committed || this.#answers.length === 0) return
    this.#committed = true
    void this.#send(CompiledQuery.raw('commit'))
    // After a failure Postgres turns the commit into a rollback without an error: the answers before it say it.
    for (const answer of this.#answers) await answer
  }

  /** Gives back the failure that came first: those behind it only say that the transaction is over. */
  async undo(thrown: unknown): Promise<unknown> {
    const answers = await Promise.allSettled(this.#answers)
    if (!this.#committed && answers.length > 0) {
      // A connection that cannot even do that is broken: the pool puts another in its place.
      await this.#send(CompiledQuery.raw('rollback')).catch(() => undefined)
    }
    const first = answers.find(({ status }) => status === 'rejected')
    return first === undefined ? thrown : (first as PromiseRejectedResult).reason
  }

  #send<Row>(query: CompiledQuery<Row>): Promise<readonly Row[]> {
    const rows = this.#connection.executeQuery<Row>(query).then((result) => result.rows)
    this.#answers.push(rows)
    // Nobody needs to wait for the rows: the commit reports a failure as well.
    rows.catch(() => undefined)
    return rows
  }
}
