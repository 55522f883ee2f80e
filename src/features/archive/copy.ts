// Copies rows to and from the database server with COPY.

import { once } from 'node:events'
import { Readable, type Writable } from 'node:stream'
import pg, { type PoolClient } from 'pg'
import { giveCode } from '../../base/database/database.ts'
import { asError, WrongDatabase } from '../../base/errors.ts'

/** A batch of whole rows in the server's COPY format. */
export interface CopiedRows {
  readonly bytes: Buffer
  readonly rows: number
  readonly longest: number
}

/** COPY methods of the driver's connection that its types omit. */
interface Wire {
  readonly stream: Writable & { pause: () => void; resume: () => void }
  readonly sendCopyFromChunk: (bytes: Buffer) => void
  readonly endCopyFrom: () => void
  readonly sendCopyFail: (reason: string) => void
}

/** The server is paused when this many batches are waiting. */
const mostWaiting = 8

/** Reads `copy (…) to stdout` in batches of whole rows; a slow reader slows down the server. */
export async function* copyOut(client: PoolClient, text: string): AsyncGenerator<CopiedRows> {
  const copying = new CopyOut(text)
  client.query(copying)
  try {
    yield* copying.batches
  } finally {
    // The connection is busy until the server's last message is read, so the stream must not remain paused.
    copying.resume()
    await copying.done.catch(() => undefined)
  }
}

/** COPY as a driver query. `done` resolves to the number of copied rows. */
class Copying extends pg.Query {
  readonly done: Promise<number>

  constructor(text: string) {
    let settle: (error: Error | undefined, rows: number) => void = () => undefined
    super(text, (error, result) => settle(error, result?.rowCount ?? 0))
    this.done = new Promise<number>((resolve, reject) => {
      settle = (error, rows) => {
        if (error === undefined || error === null) return resolve(rows)
        giveCode(error)
        reject(error)
      }
    })
  }
}

/** Batch size in bytes, unless a single row is longer. */
const batchBytes = 256 * 1024

class CopyOut extends Copying {
  readonly batches = new Readable({
    objectMode: true,
    highWaterMark: mostWaiting,
    read: () => this.resume(),
  })
  #filling = Buffer.alloc(0)
  #filled = 0
  #rows = 0
  #longest = 0
  #wire: Wire | null = null

  constructor(text: string) {
    super(text)
    this.done.then(
      () => {
        this.#seal()
        return this.batches.push(null)
      },
      (error: unknown) => this.batches.destroy(asError(error)),
    )
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }, wire: Wire): void {
    if (this.batches.destroyed) return
    this.#wire = wire
    if (this.#filled + chunk.length > this.#filling.length) {
      if (!this.#seal()) wire.stream.pause()
      this.#filling = Buffer.allocUnsafeSlow(Math.max(batchBytes, chunk.length))
    }
    chunk.copy(this.#filling, this.#filled)
    this.#filled += chunk.length
    this.#rows += 1
    this.#longest = Math.max(this.#longest, chunk.length)
  }

  resume(): void {
    this.#wire?.stream.resume()
  }

  /** Queues the filled batch. Returns false if enough batches are waiting. */
  #seal(): boolean {
    if (this.#rows === 0) return true
    const bytes = this.#filling.subarray(0, this.#filled)
    const batch: CopiedRows = { bytes, rows: this.#rows, longest: this.#longest }
    this.#filling = Buffer.alloc(0)
    this.#filled = 0
    this.#rows = 0
    this.#longest = 0
    return this.batches.push(batch)
  }
}

class CopyIn extends Copying {
  readonly #source: AsyncIterable<Buffer>
  /** True after the server has ended the copy, even if there is more data to send. */
  over = false
  cause: unknown = null

  constructor(text: string, source: AsyncIterable<Buffer>) {
    super(text)
    this.#source = source
  }

  handleCopyInResponse(wire: Wire): void {
    void this.#send(wire)
  }

  async #send(wire: Wire): Promise<void> {
    try {
      for await (const bytes of this.#source) {
        if (this.over) return
        wire.sendCopyFromChunk(bytes)
        if (wire.stream.writableNeedDrain) await once(wire.stream, 'drain')
      }
      if (!this.over) wire.endCopyFrom()
    } catch (error) {
      this.cause = error
      if (!this.over) wire.sendCopyFail('the data to be sent could not be read')
    }
  }
}

export interface FiledColumn {
  readonly name: string
  readonly type: string
}

interface RowEntry {
  /** Name of the table, with its schema for `enterRows`. */
  readonly table: string
  readonly columns: readonly FiledColumn[]
  /** True if the table was created in this transaction. */
  readonly fresh?: true
}

/** Copies CSV rows in the server's COPY format into a table. Returns the number of rows. */
export async function enterRows(
  client: PoolClient,
  { table, columns, fresh }: RowEntry,
  rows: AsyncIterable<Buffer>,
): Promise<number> {
  const how = fresh === true ? 'format csv, freeze' : 'format csv'
  const copying = new CopyIn(`copy ${table} (${namesOf(columns)}) from stdin (${how})`, rows)
  client.query(copying)
  try {
    return await copying.done
  } catch (error) {
    // Throws the cause of the abort, because the server's error only says that the copy was aborted.
    throw copying.cause ?? error
  } finally {
    copying.over = true
  }
}

function namesOf(columns: readonly FiledColumn[]): string {
  return columns.map(({ name }) => pg.escapeIdentifier(name)).join(', ')
}

export async function stageRows(
  client: PoolClient,
  { table: name, columns }: RowEntry,
  rows: AsyncIterable<Buffer>,
): Promise<void> {
  const shape = columns.map(
    (column) => `${pg.escapeIdentifier(column.name)} ${checkedType(column.type)}`,
  )
  await client.query(`create temporary table staged_${name} (${shape.join(', ')}) on commit drop`)
  await enterRows(client, { table: `pg_temp.staged_${name}`, columns }, rows)
}

/** Inserts the staged rows that the table does not contain yet. */
export async function enterStaged(client: PoolClient, { table, columns }: RowEntry): Promise<void> {
  const names = namesOf(columns)
  await client.query(
    `insert into public.${table} (${names})
    select ${names} from pg_temp.staged_${table}
    on conflict do nothing`,
  )
}

/** Validates a type name, because a manifest is a file that may have been edited. */
function checkedType(type: string): string {
  if (/^[a-z][a-z ]*$/.test(type)) return type
  throw new WrongDatabase(
    `expected a type name in the manifest, got ${JSON.stringify(type)}; the manifest was changed`,
  )
}
