// Records finished calls in batches.

import { troubleOf } from '../../base/database/trouble.ts'
import { pause } from '../../base/waiting.ts'
import {
  type SettlementRules,
  type Entry,
  settleCalls,
  type SettledCall,
} from '../ledger/settle.ts'
import type { Mill } from '../mill.ts'
import { lighten, withoutRows } from '../ledger/entry.ts'

interface BatchOptions {
  /** True if unrecorded calls delay buying, as under a rate limit. Entries are then written without delay. */
  readonly counted: boolean
  /** Records several entries at once, and returns the results for known calls. */
  readonly write: (entries: readonly Entry[]) => Promise<readonly SettledCall[]>
  readonly onAway: (away: boolean) => void
  /** Called if an entry cannot be written at all. `abandon` still returns these entries. */
  readonly onStuck: (error: unknown) => void
}

interface Waiting {
  readonly entry: Entry
  readonly resolve: (recorded: SettledCall) => void
}

/** Number of batches written at the same time. */
const writers = 2
const conflictTries = 20
const awayMs = { first: 100, longest: 2_000 }
/** Interval between checks for more entries. */
const pauseMs = 10
/** Maximum wait for more entries. Starting a batch costs as much as writing many entries. */
const longestMs = 50
/** Maximum wait for another write to end; after this time, even a few entries are written concurrently. */
const patienceMs = 250

interface LedgerOptions extends Omit<BatchOptions, 'write'> {
  readonly onRecorded: (calls: readonly number[]) => void
  /** Called with entries whose calls are not in the database. */
  readonly onStrangers: (entries: readonly Entry[]) => void
}

export function openBatch(mill: Mill, rules: SettlementRules, options: LedgerOptions): Batch {
  const write = async (entries: readonly Entry[]): Promise<readonly SettledCall[]> => {
    const { recorded, strangers } = await settleCalls(mill.db, rules, entries)
    options.onRecorded(recorded.map(({ call }) => call))
    if (strangers.length > 0) options.onStrangers(strangers)
    return recorded
  }
  return new Batch({ ...options, write })
}

/**
 * Collects entries until a batch is full, no more entries arrive, or the oldest entry has waited too long, and writes
 * them together. One bad entry must not make other entries fail. Every entry is kept until it is written, because its
 * call was paid for.
 */
export class Batch {
  readonly #options: BatchOptions
  readonly #kept = new Set<Waiting>()
  readonly #gathered: Waiting[] = []
  /** Number of entries gathered before the last check. */
  #seen = 0
  /** Arrival time of the first gathered entry. */
  #since = 0
  #timer: NodeJS.Timeout | undefined
  #writing = 0
  #abandoned = false

  constructor(options: BatchOptions) {
    this.#options = options
  }

  /** Resolves when the entry is durably recorded. */
  add(entry: Entry): Promise<SettledCall> {
    return new Promise((resolve) => {
      const waiting = { entry, resolve }
      this.#kept.add(waiting)
      if (this.#gathered.length === 0) this.#since = performance.now()
      this.#gathered.push(waiting)
      if (this.#full) this.#flush()
      else this.#wait()
    })
  }

  get size(): number {
    return this.#kept.size
  }

  /** Stops writing, and returns the remaining entries, which the caller must keep. */
  abandon(): readonly Entry[] {
    this.#abandoned = true
    clearTimeout(this.#timer)
    return [...this.#kept].map(({ entry }) => entry)
  }

  get #full(): boolean {
    return this.#gathered.length >= mostTogether
  }

  get #age(): number {
    return performance.now() - this.#since
  }

  #wait(): void {
    if (this.#abandoned || this.#gathered.length === 0) return
    this.#timer ??= setTimeout(() => this.#look(), pauseMs)
  }

  #look(): void {
    this.#timer = undefined
    const grew = this.#gathered.length > this.#seen
    this.#seen = this.#gathered.length
    if (grew && this.#age < (this.#options.counted ? pauseMs : longestMs)) this.#wait()
    else this.#flush()
  }

  #flush(): void {
    if (this.#abandoned || this.#gathered.length === 0) return
    const pressing = this.#full || this.#age >= (this.#options.counted ? 0 : patienceMs)
    if (this.#writing >= (pressing ? writers : 1)) return this.#wait()
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#seen = 0
    this.#since = performance.now()
    this.#writing += 1
    void this.#write(this.#gathered.splice(0, mostTogether)).finally(() => {
      this.#writing -= 1
      if (this.#full) this.#flush()
      else this.#wait()
    })
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    try {
      const results = await this.#persist(batch.map(({ entry }) => entry))
      const byCall = new Map(results.map((one) => [one.call, one]))
      for (const waiting of batch) this.#letGo(waiting, byCall.get(waiting.entry.call.id))
    } catch (error) {
      if (this.#abandoned) return
      const [only] = batch
      if (only !== undefined && batch.length === 1) return this.#alone(only, error)
      const middle = Math.ceil(batch.length / 2)
      await this.#write(batch.slice(0, middle))
      await this.#write(batch.slice(middle))
    }
  }

  #letGo(waiting: Waiting, recorded: SettledCall | undefined): void {
    this.#kept.delete(waiting)
    waiting.resolve(
      recorded ?? { call: waiting.entry.call.id, task: 0, state: 'open', waitMs: null },
    )
  }

  async #alone(waiting: Waiting, error: unknown): Promise<void> {
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
    // The entry is kept, because the database may have caused the error.
    if (!this.#abandoned) this.#options.onStuck(reason)
  }

  /** Waits while the database is unreachable, and retries conflicts. Throws errors caused by the data. */
  async #persist(entries: readonly Entry[]): Promise<readonly SettledCall[]> {
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
        // Splits the batch, because a smaller batch may avoid the conflict.
        if (trouble === 'conflict' && entries.length > 1) throw error
        this.#options.onAway(true)
        await pause(waitMs)
        waitMs = Math.min(awayMs.longest, waitMs * 2)
      }
    }
  }
}

/** Maximum number of answers in a batch. */
export const mostTogether = 128

/** Number of unstored answers at which buying pauses, because unstored answers use memory and log space. */
export function mostUnwritten(lanes: number): number {
  return Math.min(3 * mostTogether, 4 * lanes)
}

/** With at most this many lanes, no calls are reserved in advance. A crash leaves at most one unknown call per lane. */
const fewLanes = 16

/** Number of calls to reserve in advance: 0 if there are few lanes, or if the rate or calls in flight are limited. */
export function aheadOf(
  lanes: number,
  { rateLimit, mostInFlight }: { rateLimit: number | null; mostInFlight: number | null },
): number {
  const counted = rateLimit !== null || mostInFlight !== null
  return lanes <= fewLanes || counted ? 0 : Math.floor(lanes / 4)
}

/** Maximum number of calls that are reserved, in flight or waiting to be stored. */
export function mostFlying(lanes: number, ahead: number): number {
  return lanes + ahead + mostUnwritten(lanes)
}

/** Number of slices to process at once. Spare slices keep lanes busy while a slice waits for its slowest task. */
export function slotsFor(lanes: number): number {
  return Math.ceil((lanes * 1.5 + mostUnwritten(lanes)) / 25) + 1
}
