import { Clock } from './clock.ts'
import type { Wallet } from './wallet.ts'
import { Wire } from './wire.ts'
import type { Environment } from '../../shared/config.ts'

/** What a worker talks to. */
export type Cable = 'database' | 'queue' | 'api'

export interface SeatOptions {
  readonly wallet: Wallet
  readonly databaseUrl: string
  /** Null: the queue lives in the database. */
  readonly redisUrl: string | null
  /** A file that sets its clock, and the library that reads it; null where there is none. */
  readonly clock: { readonly file: string; readonly library: string } | null
}

/** A place for a worker, with cables of its own to everything that it talks to, and a clock of its own. */
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

  /** One of its cables, by luck. */
  wire(luck: number): Wire {
    const wires = [...this.#wires.values()]
    const wire = wires[Math.floor(luck * wires.length)]
    if (wire === undefined) throw new Error('expected a wire, got none')
    return wire
  }

  /** True when everything that its worker talks to is within reach. */
  get clear(): boolean {
    return [...this.#wires.values()].every((wire) => wire.clear)
  }

  /** Everything as it should be. */
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
