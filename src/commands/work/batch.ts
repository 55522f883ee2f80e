import type { Clerk, Entry, Recorded } from '../../credits/entry.ts'
import { record } from '../../credits/record.ts'
import { pause } from '../../shared/waiting.ts'
import { troubleOf } from '../../store/trouble.ts'
import type { Mill } from '../mill/mill.ts'
import { lighten, withoutRows } from './entry.ts'
import { Gathering } from './gathering.ts'

export interface BatchOptions {
  readonly lanes: number
  /** True where nothing is bought for what is not written down yet, as under a rate limit: it is written down at once. */
  readonly counted: boolean
  /** Writes entries down together; gives back what became of each, in their order. */
  readonly write: (entries: readonly Entry[]) => Promise<readonly Recorded[]>
  /** Told when the database goes away, and when it is back. */
  readonly onAway: (away: boolean) => void
  /** Told when an entry cannot be written in any form: it stays among those that `abandon` hands over. */
  readonly onStuck: (error: unknown) => void
}

interface Waiting {
  readonly entry: Entry
  readonly resolve: (recorded: Recorded) => void
}

/** Batches written at the same time. */
const writers = 2
const conflictTries = 20
const awayMs = { first: 100, longest: 2_000 }

interface LedgerOptions extends Omit<BatchOptions, 'write'> {
  /** Told of entries whose calls the database does not know: they are let go of once they are kept elsewhere. */
  readonly onStrangers: (entries: readonly Entry[]) => void
}

/** Gathers entries and writes them down in this mill's ledger. */
export function openBatch(mill: Mill, clerk: Clerk, options: LedgerOptions): Batch {
  const write = async (entries: readonly Entry[]): Promise<readonly Recorded[]> => {
    const { recorded, strangers } = await record(mill.db, clerk, entries)
    if (strangers.length > 0) options.onStrangers(strangers)
    const byCall = new Map(recorded.map((one) => [one.call, one]))
    return entries.map(
      ({ call: { id } }) => byCall.get(id) ?? { call: id, task: 0, state: 'open', waitMs: null },
    )
  }
  return new Batch({ ...options, write })
}

/**
 * Gathers entries for a moment and writes them together; one bad entry never takes the others along. An entry
 * is let go of once it is written, and not before: each of them was paid for.
 */
export class Batch {
  readonly #options: BatchOptions
  readonly #gathering: Gathering<Waiting>
  readonly #kept = new Set<Waiting>()
  #writing = 0
  #abandoned = false

  constructor(options: BatchOptions) {
    this.#options = options
    this.#gathering = new Gathering({ ...options, onDue: () => this.#flush() })
  }

  /** Resolves once the entry is written down for good. */
  add(entry: Entry): Promise<Recorded> {
    return new Promise((resolve) => {
      const waiting = { entry, resolve }
      this.#kept.add(waiting)
      this.#gathering.add(waiting)
    })
  }

  /** Entries that are not written down yet. */
  get size(): number {
    return this.#kept.size
  }

  /** Stops writing and hands over what is left: the caller has to keep it. */
  abandon(): readonly Entry[] {
    this.#abandoned = true
    this.#gathering.stop()
    return [...this.#kept].map(({ entry }) => entry)
  }

  #flush(): void {
    const gathering = this.#gathering
    if (this.#abandoned || gathering.empty) return
    if (this.#writing >= (gathering.pressing ? writers : 1)) return gathering.wait()
    this.#writing += 1
    void this.#write(gathering.take()).finally(() => {
      this.#writing -= 1
      if (gathering.full) this.#flush()
      else if (!this.#abandoned) gathering.wait()
    })
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    let error: unknown
    try {
      const results = await this.#persist(batch.map(({ entry }) => entry))
      batch.forEach((waiting, index) => this.#letGo(waiting, results[index]))
      return
    } catch (failure) {
      error = failure
    }
    if (this.#abandoned) return
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      await this.#write(batch.slice(0, middle))
      await this.#write(batch.slice(middle))
      return
    }
    await this.#alone(batch[0], error)
  }

  #letGo(waiting: Waiting, recorded: Recorded | undefined): void {
    if (recorded === undefined) {
      this.#options.onStuck(new Error('expected a result for each entry'))
      return
    }
    this.#kept.delete(waiting)
    waiting.resolve(recorded)
  }

  async #alone(waiting: Waiting | undefined, error: unknown): Promise<void> {
    if (waiting === undefined) return
    let reason = error
    for (const lighter of [withoutRows, lighten]) {
      const entry = lighter(waiting.entry, reason)
      if (entry === null) break
      try {
        const [result] = await this.#persist([entry])
        return this.#letGo(waiting, result)
      } catch (failure) {
        reason = failure
      }
    }
    // Whole, as it came: perhaps it is the database that is at fault, not the entry.
    if (!this.#abandoned) this.#options.onStuck(reason)
  }

  /** Waits while the database is away and tries again after conflicts; an error that lies in the data is thrown. */
  async #persist(entries: readonly Entry[]): Promise<readonly Recorded[]> {
    let waitMs: number = awayMs.first
    for (let conflicts = 0; ;) {
      try {
        const results = await this.#options.write(entries)
        this.#options.onAway(false)
        return results
      } catch (error) {
        const trouble = troubleOf(error)
        if (trouble === 'data' || this.#abandoned) throw error
        if (trouble === 'conflict' && conflicts < conflictTries) {
          conflicts += 1
          await pause(Math.random() * 50 * conflicts)
          continue
        }
        // Fewer entries at a time may get past those who stand in the way.
        if (trouble === 'conflict' && entries.length > 1) throw error
        this.#options.onAway(true)
        await pause(waitMs)
        waitMs = Math.min(awayMs.longest, waitMs * 2)
      }
    }
  }
}
