import type { Program } from './process.ts'
import { pause } from '../../shared/waiting.ts'

/** Exit codes with which a worker may end while faults are made: told to, or something was out of reach. */
const usual: readonly (number | null)[] = [null, 0, 5]

/** Worker processes that are killed and frozen, and replaced when they end. */
export class Crew {
  readonly #hire: () => Program
  readonly #size: number
  readonly #hands = new Set<Program>()
  readonly #frozen = new Set<Program>()
  #ending = false
  /** What workers said that ended in a way they should not. */
  readonly accidents: string[] = []

  constructor(size: number, hire: () => Program) {
    this.#hire = hire
    this.#size = size
    for (let hand = 0; hand < size; hand += 1) this.#add()
  }

  kill(luck: number): boolean {
    return this.#strike(luck, 'SIGKILL')
  }

  dismiss(luck: number): boolean {
    return this.#strike(luck, 'SIGTERM')
  }

  /** Stops a worker in its tracks for longer than its lease, as a paused machine would. */
  freeze(luck: number, ms: number): boolean {
    const hand = this.#awake(luck)
    if (hand === undefined) return false
    hand.signal('SIGSTOP')
    this.#frozen.add(hand)
    void this.#thawLater(hand, ms)
    return true
  }

  /** Lets every worker finish what it has begun. */
  async end(): Promise<void> {
    this.#ending = true
    for (const hand of this.#frozen) hand.signal('SIGCONT')
    for (const hand of this.#hands) hand.signal('SIGTERM')
    const hands = [...this.#hands]
    const killed = pause(30_000).then(() => hands.forEach((hand) => hand.signal('SIGKILL')))
    await Promise.race([Promise.all(hands.map(({ ended }) => ended)), killed])
    await Promise.all(hands.map(({ ended }) => ended))
  }

  #awake(luck: number): Program | undefined {
    const awake = [...this.#hands].filter((hand) => !this.#frozen.has(hand) && !hand.over())
    return awake[luck % Math.max(1, awake.length)]
  }

  #strike(luck: number, signal: NodeJS.Signals): boolean {
    const hand = this.#awake(luck)
    hand?.signal(signal)
    return hand !== undefined
  }

  async #thawLater(hand: Program, ms: number): Promise<void> {
    await pause(ms)
    this.#frozen.delete(hand)
    hand.signal('SIGCONT')
  }

  #add(): void {
    const hand = this.#hire()
    this.#hands.add(hand)
    void this.#replace(hand)
  }

  async #replace(hand: Program): Promise<void> {
    const code = await hand.ended
    this.#hands.delete(hand)
    this.#frozen.delete(hand)
    if (!usual.includes(code))
      this.accidents.push(`exit ${code}: ${hand.lastWords().slice(-2_000)}`)
    await pause(300)
    if (!this.#ending && this.#hands.size < this.#size) this.#add()
  }
}
