import { Lot, type StagedQuery } from './staged-columns.ts'
import { awaitedLater } from '../../shared/waiting.ts'

// Statements of this many rows are cheap for each row; a lot of long texts goes sooner.
const mostRows = 5_000
const mostBytes = 4_000_000

/** Sends rows in lots: one is gathered while the one before is on its way. */
export class Sender {
  // The two change places with each lot, so that no lot needs new memory.
  #gathering: Lot
  #travelling: Lot
  #sent: Promise<void> = Promise.resolve()
  readonly #send: (lot: Lot) => Promise<void>

  /** `labels` are those that are given a share of the credits. */
  constructor(send: (lot: Lot) => Promise<void>, labels: readonly string[] = []) {
    this.#send = send
    this.#gathering = new Lot(labels)
    this.#travelling = new Lot(labels)
  }

  /** Waits only while two lots are full. */
  async add(queries: readonly StagedQuery[]): Promise<void> {
    for (const query of queries) this.#gathering.add(query)
    const { rows, bytes } = this.#gathering
    if (rows >= mostRows || bytes >= mostBytes) await this.#swap()
  }

  /** Sends the rest; whatever failed before is thrown here at the latest. */
  async end(): Promise<void> {
    await this.#swap()
    await this.#sent
  }

  async #swap(): Promise<void> {
    await this.#sent
    const full = this.#gathering
    this.#gathering = this.#travelling
    this.#travelling = full
    this.#gathering.clear()
    if (full.rows === 0) return
    this.#sent = awaitedLater(this.#send(full))
  }
}
