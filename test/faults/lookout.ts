import { pause } from '../../src/base/waiting.ts'

/** The fleet at one moment. */
export interface Look {
  /** Another one whenever an answer was settled. */
  readonly settled: string
  /** Those who could work: nothing is done to them, and there is something to do and to spend. */
  readonly able: ReadonlySet<unknown>
}

interface LookoutOptions {
  /** Null while nobody can tell, or nothing can be expected. */
  readonly look: () => Promise<Look | null>
  /** Time is counted in looks, so a slow machine, which looks more slowly, does not make it longer. */
  readonly everyMs: number
  /** Longer than this, and it is said. */
  readonly limitMs: number
  readonly say: (line: string) => void
  /** Asked once, when they have stood for too long: what there is to see then. */
  readonly explain: () => Promise<string>
}

/** Measures how long the fleet stands: nothing is settled by anybody, while somebody could work all that time. */
export class Lookout {
  readonly #options: LookoutOptions
  /** Since when each of them could have worked, and nothing was settled. */
  readonly #since = new Map<unknown, number>()
  #settled = ''
  #stopped = false
  #said = false
  #longestMs = 0

  constructor(options: LookoutOptions) {
    this.#options = options
    void this.#run()
  }

  /** The longest time that the fleet stood, so far. */
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
