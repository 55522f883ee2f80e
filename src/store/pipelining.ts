import { CompiledQuery, type DatabaseConnection, type RawBuilder } from './kysely.ts'
import type { Database } from './database.ts'

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
