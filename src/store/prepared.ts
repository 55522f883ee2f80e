import { Writable } from 'node:stream'
import type { Pool, PoolClient } from 'pg'
import {
  PostgresDialect,
  type Dialect,
  type PostgresCursor,
  type PostgresPoolClient,
  type PostgresQueryResult,
} from './kysely.ts'

/** A connection keeps the plans of so many statements; what comes beyond them is planned each time. */
const mostPlans = 50
/** A plan is made anew after so many uses, then after eight times as many, and so on. */
const firstUses = 64
const moreUses = 8

// The plan of a statement by key is the same for a small table and a large one, if nothing else is allowed.
// What is not allowed counts as very dear, and a server that compiles dear statements would take seconds for each of ours.
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
 * What is sent in one turn goes out in one write: a transaction that is sent whole arrives whole, and a process that is
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
export function preparedDialect(pool: Pool): Dialect {
  const clients = new WeakMap<PoolClient, PreparedClient>()
  const connect = async () => {
    const client = await pool.connect()
    const known = clients.get(client) ?? new PreparedClient(client)
    clients.set(client, known)
    return known
  }
  return new PostgresDialect({ pool: { connect, end: () => pool.end() } })
}
