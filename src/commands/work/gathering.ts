import { countedLanes, mostTogether } from './capacity.ts'

/** While more comes it is waited for so long: beginning a batch costs as much as many entries do. */
const longestMs = 50
/** What waits behind a batch for longer is written beside it, however little it is. */
const patienceMs = 250

interface GatheringOptions {
  readonly lanes: number
  /** True where nothing is bought for what is not written down yet, as under a rate limit: nothing waits then. */
  readonly counted: boolean
  /** Called when what has gathered may be taken. */
  readonly onDue: () => void
}

/** What waits to be written down together: until it is a whole batch, no more of it comes, or some of it is old. */
export class Gathering<T> {
  readonly #onDue: () => void
  readonly #pauseMs: number
  readonly #longestMs: number
  readonly #patienceMs: number
  #items: T[] = []
  /** How many there were at the last look. */
  #seen = 0
  /** When the first of them came. */
  #since = 0
  #timer: NodeJS.Timeout | undefined

  constructor({ lanes, counted, onDue }: GatheringOptions) {
    this.#onDue = onDue
    // With few lanes each commit keeps one of them waiting; with many a longer wait makes larger groups.
    const few = lanes <= countedLanes
    this.#pauseMs = few ? 5 : 10
    this.#longestMs = few || counted ? this.#pauseMs : longestMs
    this.#patienceMs = few || counted ? 0 : patienceMs
  }

  get empty(): boolean {
    return this.#items.length === 0
  }

  get full(): boolean {
    return this.#items.length >= mostTogether
  }

  /** True when it is not to wait for a batch that is being written. */
  get pressing(): boolean {
    return this.full || this.#age >= this.#patienceMs
  }

  add(item: T): void {
    if (this.empty) this.#since = performance.now()
    this.#items.push(item)
    if (this.full) this.#onDue()
    else this.wait()
  }

  /** The next batch. */
  take(): T[] {
    this.stop()
    this.#seen = 0
    this.#since = performance.now()
    return this.#items.splice(0, mostTogether)
  }

  /** Looks again in a moment. */
  wait(): void {
    if (!this.empty) this.#timer ??= setTimeout(() => this.#look(), this.#pauseMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    this.#timer = undefined
    const grew = this.#items.length > this.#seen
    this.#seen = this.#items.length
    if (grew && this.#age < this.#longestMs) this.wait()
    else this.#onDue()
  }

  get #age(): number {
    return performance.now() - this.#since
  }
}
