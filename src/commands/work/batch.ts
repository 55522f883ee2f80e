import { pause } from '../../shared/waiting.ts'
/** What to do about a write that failed. */
export type Setback = 'away' | 'conflict' | 'data'

export interface BatchOptions<Item, Result> {
  /** Most items written together. */
  readonly size: number
  /** How long the first item of a batch waits for others. */
  readonly delayMs: number
  /** Batches written at the same time. */
  readonly writers: number
  readonly write: (items: readonly Item[]) => Promise<readonly Result[]>
  readonly judge: (error: unknown) => Setback
  /** A lighter form of an item that cannot be written as it is; null when there is none. */
  readonly lighten: (item: Item, error: unknown) => Item | null
  /** Told when the store goes away, and when it is back. */
  readonly onAway: (away: boolean) => void
  /** Told when an item cannot be written in any form: it stays among those that `abandon` hands over. */
  readonly onStuck: (error: unknown) => void
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
}

const conflictTries = 20
const awayMs = { first: 100, longest: 2_000 }

/**
 * Gathers items for a few milliseconds and writes them together; one bad item never takes the others along. An item is
 * let go of once it is written, and not before: each of them was paid for.
 */
export class Batch<Item, Result> {
  readonly #options: BatchOptions<Item, Result>
  readonly #kept = new Set<Waiting<Item, Result>>()
  #gathering: Waiting<Item, Result>[] = []
  #timer: NodeJS.Timeout | undefined
  #writing = 0
  #abandoned = false

  constructor(options: BatchOptions<Item, Result>) {
    this.#options = options
  }

  /** Resolves once the item is written down for good. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve) => {
      const waiting = { item, resolve }
      this.#kept.add(waiting)
      this.#gathering.push(waiting)
      if (this.#gathering.length >= this.#options.size) this.#flush()
      else this.#timer ??= setTimeout(() => this.#flush(), this.#options.delayMs)
    })
  }

  /** Items that are not written down yet. */
  get size(): number {
    return this.#kept.size
  }

  /** Gives up writing and hands over what is left: somebody else keeps it now. */
  abandon(): readonly Item[] {
    this.#abandoned = true
    clearTimeout(this.#timer)
    return [...this.#kept].map(({ item }) => item)
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#abandoned || this.#gathering.length === 0) return
    // All writers busy: the next one that is done takes what has gathered.
    if (this.#writing >= this.#options.writers) return
    const batch = this.#gathering.splice(0, this.#options.size)
    this.#writing += 1
    void this.#write(batch).finally(() => {
      this.#writing -= 1
      this.#flush()
    })
  }

  async #write(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    let error: unknown
    try {
      const results = await this.#persist(batch.map(({ item }) => item))
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

  #letGo(waiting: Waiting<Item, Result>, result: Result | undefined): void {
    if (result === undefined) {
      this.#options.onStuck(new Error('expected a result for each item'))
      return
    }
    this.#kept.delete(waiting)
    waiting.resolve(result)
  }

  async #alone(waiting: Waiting<Item, Result> | undefined, error: unknown): Promise<void> {
    if (waiting === undefined) return
    const lighter = this.#options.lighten(waiting.item, error)
    try {
      if (lighter === null) throw error
      const [result] = await this.#persist([lighter])
      this.#letGo(waiting, result)
    } catch (failure) {
      // Whole, as it came: what is wrong is perhaps not its fault.
      if (!this.#abandoned) this.#options.onStuck(failure)
    }
  }

  /** Waits out a store that is away and conflicts with others; what lies in the data comes back as an error. */
  async #persist(items: readonly Item[]): Promise<readonly Result[]> {
    let waitMs: number = awayMs.first
    for (let conflicts = 0; ;) {
      try {
        const results = await this.#options.write(items)
        this.#options.onAway(false)
        return results
      } catch (error) {
        const setback = this.#options.judge(error)
        if (setback === 'data' || this.#abandoned) throw error
        if (setback === 'conflict' && conflicts < conflictTries) {
          conflicts += 1
          await pause(Math.random() * 50 * conflicts)
          continue
        }
        // Fewer at a time may be let through.
        if (setback === 'conflict' && items.length > 1) throw error
        this.#options.onAway(true)
        await pause(waitMs)
        waitMs = Math.min(awayMs.longest, waitMs * 2)
      }
    }
  }
}
