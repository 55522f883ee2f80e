import { once } from 'node:events'
import type { Writable } from 'node:stream'
import pg, { type PoolClient } from 'pg'
import { asError } from '../../shared/errors.ts'
import { giveCode } from '../database.ts'
import { giveBuffer, takeBuffer } from './buffers.ts'

/** Whole rows as the server copies them out; the bytes are gone when the next are asked for. */
export interface CopiedRows {
  readonly bytes: Buffer
  readonly rows: number
  /** Bytes of the longest of them. */
  readonly longest: number
}

/** What the driver calls while something is copied, which its types do not tell. */
interface Wire {
  readonly stream: Writable & { pause: () => void; resume: () => void }
  readonly sendCopyFromChunk: (bytes: Buffer) => void
  readonly endCopyFrom: () => void
  readonly sendCopyFail: (reason: string) => void
}

/** How many wait before the server has to. */
const mostWaiting = 8

/** What `copy (…) to stdout` writes, in batches of whole rows; a reader that is slow slows the server. */
export async function* copyOut(client: PoolClient, text: string): AsyncGenerator<CopiedRows> {
  const copying = new CopyOut(text)
  client.query(copying)
  try {
    for (let batch = await copying.next(); batch !== null; batch = await copying.next()) yield batch
  } finally {
    // Whoever stops reading gets the connection back when the server has said everything.
    await copying.drain()
  }
}

/** Sends pieces of text to `copy … from stdin`; gives how many rows they were. */
export async function copyIn(
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
