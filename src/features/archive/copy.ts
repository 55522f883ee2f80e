// Rows as the server copies them out and in.

import { once } from 'node:events'
import type { Writable } from 'node:stream'
import pg, { type PoolClient } from 'pg'
import { giveCode } from '../../base/database/database.ts'
import { asError, WrongDatabase } from '../../base/errors.ts'
import type { ArchivedDay } from './days.ts'

/** Whole rows as the server copies them out; the bytes are gone when the next are asked for. */
export interface CopiedRows {
  readonly bytes: Buffer
  readonly rows: number
  /** Bytes of the longest of them. */
  readonly longest: number
}

/** Connection methods that the driver uses for COPY and its types leave out. */
interface Wire {
  readonly stream: Writable & { pause: () => void; resume: () => void }
  readonly sendCopyFromChunk: (bytes: Buffer) => void
  readonly endCopyFrom: () => void
  readonly sendCopyFail: (reason: string) => void
}

/** Batches that wait before the server has to. */
const mostWaiting = 8

/** Reads `copy (…) to stdout` in batches of whole rows; a slow reader slows the server. */
export async function* copyOut(client: PoolClient, text: string): AsyncGenerator<CopiedRows> {
  const copying = new CopyOut(text)
  client.query(copying)
  try {
    for (let batch = await copying.next(); batch !== null; batch = await copying.next()) yield batch
  } finally {
    // The connection is free again only after the server's last message.
    await copying.drain()
  }
}

/** Sends pieces of text to `copy … from stdin`; gives how many rows they were. */
async function copyIn(
  client: PoolClient,
  text: string,
  source: AsyncIterable<Buffer>,
): Promise<number> {
  const copying = new CopyIn(text, source)
  client.query(copying)
  try {
    return await copying.done
  } catch (error) {
    // The server says that it was told to stop; why is known here.
    throw copying.cause ?? error
  } finally {
    copying.over = true
  }
}

/** A statement of the driver with a promise for how many rows it copied. */
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

class CopyOut extends Copying {
  readonly #ready: CopiedRows[] = []
  #filling: Buffer = Buffer.alloc(0)
  #filled = 0
  #rows = 0
  #longest = 0
  #given: Buffer | null = null
  #wire: Wire | null = null
  #ended: { readonly error: Error | null } | null = null
  #wake: () => void = () => undefined

  constructor(text: string) {
    super(text)
    const end = (error: Error | null) => {
      this.#seal()
      this.#ended = { error }
      this.#wake()
    }
    this.done.then(
      () => end(null),
      (error: unknown) => end(asError(error)),
    )
  }

  /** The driver's word for a row. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }, wire: Wire): void {
    if (this.#filled + chunk.length > this.#filling.length) {
      this.#seal()
      this.#filling = takeBuffer(chunk.length)
      if (this.#ready.length >= mostWaiting) wire.stream.pause()
      this.#wire = wire
      this.#wake()
    }
    chunk.copy(this.#filling, this.#filled)
    this.#filled += chunk.length
    this.#rows += 1
    this.#longest = Math.max(this.#longest, chunk.length)
  }

  async next(): Promise<CopiedRows | null> {
    if (this.#given !== null) giveBuffer(this.#given)
    this.#given = null
    for (;;) {
      const batch = this.#ready.shift()
      if (batch !== undefined) {
        this.#given = batch.bytes
        return batch
      }
      if (this.#ended !== null) {
        if (this.#ended.error !== null) throw this.#ended.error
        return null
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        this.#wire?.stream.resume()
      })
    }
  }

  async drain(): Promise<void> {
    while (this.#ended === null) {
      this.#ready.length = 0
      await this.next().catch(() => null)
    }
    // The last words may have come with rows that made it pause.
    this.#wire?.stream.resume()
  }

  #seal(): void {
    if (this.#rows === 0) return
    const bytes = this.#filling.subarray(0, this.#filled)
    this.#ready.push({ bytes, rows: this.#rows, longest: this.#longest })
    this.#filling = Buffer.alloc(0)
    this.#filled = 0
    this.#rows = 0
    this.#longest = 0
  }
}

class CopyIn extends Copying {
  readonly #source: AsyncIterable<Buffer>
  /** True: the server has said its last word, whatever there is left to send. */
  over = false
  cause: unknown = null

  constructor(text: string, source: AsyncIterable<Buffer>) {
    super(text)
    this.#source = source
  }

  /** The driver's word for: begin. */
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
      if (!this.over) wire.sendCopyFail('what was to be sent could not be read')
    }
  }
}

/** A column as a file of the archive names it. */
export interface FiledColumn {
  readonly name: string
  readonly type: string
}

/** Target table of rows. */
export interface RowEntry {
  /** With its schema. */
  readonly table: string
  readonly columns: readonly FiledColumn[]
  /** True: nobody else has seen the table since this transaction began. */
  readonly fresh?: true
}

/** Rows as the server copied them out. */
type Copied = AsyncIterable<Buffer>

/** Puts rows of the archive into a table; gives how many. */
export function enterRows(
  client: PoolClient,
  { table, columns, fresh }: RowEntry,
  rows: Copied,
): Promise<number> {
  const how = fresh === true ? 'format csv, freeze' : 'format csv'
  return copyIn(client, `copy ${table} (${namesOf(client, columns)}) from stdin (${how})`, rows)
}

function namesOf(client: PoolClient, columns: readonly FiledColumn[]): string {
  return columns.map(({ name }) => client.escapeIdentifier(name)).join(', ')
}

/** Name of the temporary table for staged rows. */
function stagedTable(name: string): string {
  return `pg_temp.staged_${name}`
}

/** Puts rows of a table where they wait, whatever of them is there already. */
export async function stageRows(
  client: PoolClient,
  { table: name, columns }: RowEntry,
  rows: Copied,
): Promise<void> {
  const table = stagedTable(name)
  const shape = columns.map(
    (column) => `${client.escapeIdentifier(column.name)} ${checkedType(column.type)}`,
  )
  await client.query(`create temporary table staged_${name} (${shape.join(', ')}) on commit drop`)
  await enterRows(client, { table, columns }, rows)
}

/** Puts rows that wait into their table, if they are not there. */
export async function enterStaged(
  client: PoolClient,
  { table: name, columns }: RowEntry,
): Promise<void> {
  const names = namesOf(client, columns)
  await client.query(
    `insert into public.${name} (${names})
    select ${names} from ${stagedTable(name)}
    on conflict do nothing`,
  )
}

/** A manifest is a file that somebody may have written into. */
function checkedType(type: string): string {
  if (/^[a-z][a-z ]*$/.test(type)) return type
  throw new WrongDatabase(
    `expected the name of a type in the manifest, got ${JSON.stringify(type)}; the manifest was changed`,
  )
}

/** Takes the mark from answers that wait; gives how many had it. */
export async function unmarkAnswers(client: PoolClient): Promise<number> {
  const { rowCount } = await client.query(
    `update public.searches set archived = false
    where archived and id in (select id from ${stagedTable('searches')})`,
  )
  return rowCount ?? 0
}

/** True: some of the answers that wait are none of those that leave. */
export async function areStrange(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query(
    `select from ${stagedTable('searches')}
    where id not in (select search_id from pg_temp.leaving)
    limit 1`,
  )
  return rows.length > 0
}

/** The day is not in the archive any more. Sums that were made without it are made again. */
export async function crossOut(client: PoolClient, { run_date: day, part }: ArchivedDay) {
  const { rowCount } = await client.query(
    `with back as (
      delete from public.archived_days
      where run_date = $1::date and part = $2
      returning run_date, archived_at
    ),
    stale as (
      delete from public.finished_days
      using back
      where finished_days.run_date >= back.run_date
        and finished_days.begun_at > back.archived_at
    )
    select from back`,
    [day, part],
  )
  return rowCount === 1
}

/** Bytes that are handed on at once. */
const bufferBytes = 256 * 1024

// More are never in use at once, but for those who read several things side by side.
const mostKept = 12
const kept: Buffer[] = []

/** A buffer of the usual size, or of more: new ones each time would have all of memory gone over, again and again. */
export function takeBuffer(bytes = bufferBytes): Buffer {
  const found = bytes <= bufferBytes ? kept.pop() : undefined
  return found ?? Buffer.allocUnsafeSlow(Math.max(bufferBytes, bytes))
}

/** Returns a buffer, or the buffer of a slice, to the pool; the caller must not read it any more. */
export function giveBuffer({ buffer }: Buffer): void {
  if (buffer.byteLength === bufferBytes && kept.length < mostKept) kept.push(Buffer.from(buffer))
}
