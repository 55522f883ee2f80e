import type { Environment } from '../../src/base/config.ts'
import { pause } from '../../src/base/waiting.ts'
import type { Wallet } from './front.ts'
import { Clock, type Program } from './program.ts'
import { Wire } from './wire.ts'

interface CrewOptions {
  readonly seats: readonly Seat[]
  readonly hire: (seat: Seat) => Program
  /** Whether a worker may exit with this code now. */
  readonly mayEnd: (code: number | null) => boolean
}

const lastSigns = 1_500

/** Worker processes, one per place, that are killed and frozen, and replaced when they exit. */
export class Crew {
  readonly #options: CrewOptions
  readonly #hands = new Map<Seat, Program>()
  readonly #frozen = new Set<Program>()
  /** Workers that were told to end. A second signal would make them abandon their calls. */
  readonly #leaving = new Set<Program>()
  #ending = false
  /** Output of workers that exited unexpectedly. */
  readonly accidents: string[] = []

  constructor(options: CrewOptions) {
    this.#options = options
    for (const seat of options.seats) this.#take(seat)
  }

  /** Sends a signal to a worker that is not frozen; returns false if all workers are frozen. */
  strike(luck: number, signal: NodeJS.Signals): boolean {
    const hand = this.#awake(luck)
    if (hand === undefined) return false
    this.#tell(hand, signal)
    return true
  }

  /** Tells an account's workers to end; new workers replace them. */
  relieve(wallet: Wallet): void {
    for (const [seat, hand] of this.#hands) if (seat.wallet === wallet) this.#tell(hand, 'SIGTERM')
  }

  /** Freezes a worker, as if its machine were paused. */
  freeze(luck: number, ms: number): boolean {
    const hand = this.#awake(luck)
    if (hand === undefined) return false
    hand.signal('SIGSTOP')
    this.#frozen.add(hand)
    void this.#thawLater(hand, ms)
    return true
  }

  /** A random place with an undisturbed worker. */
  undisturbed(luck: number): Seat | undefined {
    return chosen(
      [...this.#hands.keys()].filter((seat) => this.#isFree(seat)),
      luck,
    )
  }

  /** Places whose workers have registered and could work: none is frozen, and all dependencies are reachable. */
  free(pids: readonly number[]): readonly Seat[] {
    return [...this.#hands]
      .filter(([seat, hand]) => this.#isFree(seat) && pids.includes(hand.pid))
      .map(([seat]) => seat)
  }

  /** State of every worker, with its last output. */
  describe(): readonly unknown[] {
    return [...this.#hands].map(([seat, hand]) => ({
      account: seat.wallet.name,
      pid: hand.pid,
      over: hand.over(),
      frozen: this.#frozen.has(hand),
      leaving: this.#leaving.has(hand),
      clear: seat.clear,
      said: hand.lastWords().slice(-lastSigns),
    }))
  }

  /** Lets every worker finish its calls. */
  async end(): Promise<void> {
    this.#ending = true
    for (const hand of this.#frozen) hand.signal('SIGCONT')
    const hands = [...this.#hands.values()]
    for (const hand of hands) this.#tell(hand, 'SIGTERM')
    const killed = pause(30_000).then(() => hands.forEach((hand) => hand.signal('SIGKILL')))
    await Promise.race([Promise.all(hands.map(({ ended }) => ended)), killed])
    await Promise.all(hands.map(({ ended }) => ended))
  }

  #tell(hand: Program, signal: NodeJS.Signals): void {
    if (signal === 'SIGTERM') {
      if (this.#leaving.has(hand)) return
      this.#leaving.add(hand)
    }
    hand.signal(signal)
  }

  #isFree(seat: Seat): boolean {
    const hand = this.#hands.get(seat)
    return hand !== undefined && !hand.over() && !this.#frozen.has(hand) && seat.clear
  }

  #awake(luck: number): Program | undefined {
    const hands = [...this.#hands.values()]
    return chosen(
      hands.filter((hand) => !this.#frozen.has(hand) && !hand.over()),
      luck,
    )
  }

  async #thawLater(hand: Program, ms: number): Promise<void> {
    await pause(ms)
    this.#frozen.delete(hand)
    hand.signal('SIGCONT')
  }

  #take(seat: Seat): void {
    const hand = this.#options.hire(seat)
    this.#hands.set(seat, hand)
    void this.#replace(seat, hand)
  }

  async #replace(seat: Seat, hand: Program): Promise<void> {
    const code = await hand.ended
    this.#hands.delete(seat)
    this.#frozen.delete(hand)
    if (!this.#options.mayEnd(code))
      this.accidents.push(`exit ${code}: ${hand.lastWords().slice(-2_000)}`)
    await pause(300)
    if (!this.#ending) this.#take(seat)
  }
}

function chosen<T>(from: readonly T[], luck: number): T | undefined {
  return from[Math.floor(luck * from.length)]
}

/** A worker's dependencies. */
type Cable = 'database' | 'queue' | 'api'

interface SeatOptions {
  readonly wallet: Wallet
  readonly databaseUrl: string
  /** Null if the queue is in the database. */
  readonly redisUrl: string | null
  /** A file that sets the worker's clock, and the library that reads the file; null if there is none. */
  readonly clock: { readonly file: string; readonly library: string } | null
}

/** A place for a worker, with its own connections to all dependencies, and its own clock. */
export class Seat {
  readonly wallet: Wallet
  readonly clock: Clock | null
  readonly env: Environment
  readonly #wires: ReadonlyMap<Cable, Wire>

  private constructor({ wallet, clock }: SeatOptions, wires: ReadonlyMap<Cable, Wire>) {
    this.wallet = wallet
    this.clock = clock === null ? null : new Clock(clock.file, clock.library)
    this.#wires = wires
    this.env = { ...this.clock?.env }
  }

  static async open(options: SeatOptions): Promise<Seat> {
    const { wallet, databaseUrl, redisUrl } = options
    const ends = [
      ['database', 'DATABASE_URL', databaseUrl],
      ['queue', 'REDIS_URL', redisUrl],
      ['api', 'SEARCH_API_URL', wallet.front.url],
    ] as const
    const wires = new Map<Cable, Wire>()
    const addresses: Record<string, string> = {}
    for (const [line, setting, address] of ends) {
      if (address === null) continue
      const { hostname, port } = new URL(address)
      const wire = await Wire.open(hostname, Number(port))
      wires.set(line, wire)
      addresses[setting] = wire.addressOf(address)
    }
    const seat = new Seat(options, wires)
    Object.assign(seat.env, addresses)
    return seat
  }

  /** One of its connections, chosen at random. */
  wire(luck: number): Wire {
    const wires = [...this.#wires.values()]
    const wire = wires[Math.floor(luck * wires.length)]
    if (wire === undefined) throw new Error('expected a wire, got none')
    return wire
  }

  /** True if all dependencies of its worker are reachable. */
  get clear(): boolean {
    return [...this.#wires.values()].every((wire) => wire.clear)
  }

  /** Ends all disturbances. */
  calm(): void {
    this.clock?.set(0)
    for (const wire of this.#wires.values()) {
      wire.delay(0)
      wire.letGo()
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#wires.values()].map((wire) => wire.close()))
  }
}
