import { pause } from '../../src/base/waiting.ts'

/** The fleet at one moment. */
export interface Look {
  /** A value that changes whenever an answer is settled. */
  readonly settled: string
  /** Workers that could work: they are undisturbed, and there are tasks and credits. */
  readonly able: ReadonlySet<unknown>
}

interface LookoutOptions {
  /** Null while the state is unknown, or while no progress can be expected. */
  readonly look: () => Promise<Look | null>
  /** Stalls are measured in checks, so that a slow machine, which checks less often, does not lengthen them. */
  readonly everyMs: number
  /** A stall longer than this is reported. */
  readonly limitMs: number
  readonly say: (line: string) => void
  /** Called once after a stall that is too long, to describe the state. */
  readonly explain: () => Promise<string>
}

/** Measures how long the fleet stalls: no answer is settled, although a worker could have worked the whole time. */
export class Lookout {
  readonly #options: LookoutOptions
  /** Time since which each worker could have worked, without any settlement. */
  readonly #since = new Map<unknown, number>()
  #settled = ''
  #stopped = false
  #said = false
  #longestMs = 0

  constructor(options: LookoutOptions) {
    this.#options = options
    void this.#run()
  }

  /** The longest stall so far. */
  get longestMs(): number {
    return Math.round(this.#longestMs)
  }

  stop(): void {
    this.#stopped = true
  }

  async #run(): Promise<void> {
    const { everyMs, look } = this.#options
    for (let now = everyMs; !this.#stopped; now += everyMs) {
      this.#note(await look().catch(() => null), now)
      await pause(everyMs)
    }
  }

  async #explain(): Promise<void> {
    const { explain, say } = this.#options
    say(await explain().catch((error: unknown) => `nobody can tell why: ${String(error)}`))
  }

  #note(look: Look | null, now: number): void {
    if (look === null || look.settled !== this.#settled) this.#since.clear()
    this.#settled = look?.settled ?? this.#settled
    for (const one of this.#since.keys()) if (look?.able.has(one) !== true) this.#since.delete(one)
    for (const one of look?.able ?? []) {
      const since = this.#since.get(one) ?? now
      this.#since.set(one, since)
      this.#longestMs = Math.max(this.#longestMs, now - since)
    }
    if (this.#longestMs <= this.#options.limitMs || this.#said) return
    this.#said = true
    this.#options.say(`the fleet has stood for ${this.longestMs} ms`)
    void this.#explain()
  }
}
