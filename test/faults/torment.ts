import { exits, unhandled } from '../../src/base/errors.ts'
import { pause } from '../../src/base/waiting.ts'
import type { Crew } from './crew.ts'
import type { Wallet } from './front.ts'
import type { Excuse, Setback } from './judge.ts'
import type { Site } from './site.ts'
import {
  foreignCredits,
  keyCheckCredits,
  leaseMs,
  noStrikes,
  openPack,
  straggleMs,
  type Strike,
} from './strikes.ts'

const moreCredits = 250
export const wave = 400
/** Requests, replies or both are lost. */
const silences = [['back'], ['there'], ['there', 'back']] as const

interface TormentOptions {
  readonly site: Site
  readonly crew: Crew
  readonly luck: () => number
  readonly impossible: ReadonlySet<Strike>
  readonly say: (line: string) => void
}

/** Injects random faults while workers buy, run out of tasks and credits, and get more of both. */
export class Torment {
  readonly strikes = noStrikes()
  /** Periods that the tables lost when a copy was restored, by the API's clock. */
  readonly setbacks: Setback[] = []
  /** Times at which keys changed, and the possible cost of reading the new key's balance. */
  readonly keyChecks: Excuse[] = []
  readonly #options: TormentOptions
  #storeStrike: Promise<void> | null = null
  /** Pending credits for an account, which must not arrive after those added at the end. */
  readonly #renewals = new Set<Promise<void>>()
  #full = false
  readonly #rotating = new Set<Wallet>()

  constructor(options: TormentOptions) {
    this.#options = options
  }

  /** True while a store is disturbed. */
  get disturbed(): boolean {
    return this.#storeStrike !== null
  }

  /** A worker may be told to end, or find a dependency unreachable; on a full disk, it refuses to start. */
  mayEnd(code: number | null): boolean {
    if (code === null || code === exits.done || code === exits.unreachable) return true
    if (code === exits.usage) return this.#full
    // The worker's key is no longer accepted.
    return code === exits.key && this.strikes.keyChanges > 0
  }

  async last(ms: number, signal: AbortSignal): Promise<void> {
    const end = performance.now() + ms
    const left = () => (signal.aborted ? 0 : Math.max(0, end - performance.now()))
    const { luck, impossible } = this.#options
    const feeding = this.#feed(left)
    const draw = openPack(luck, impossible)
    // Workers take a few seconds to start, and a new account makes only a few calls at first.
    await pause(Math.min(6_000, left() / 4), signal)
    // A short run has more faults per second.
    const density = ms < 60_000 ? 2 : 1
    while (left() > 0) {
      const name = draw()
      if (this.#do(name, luck(), luck())) this.strikes[name] += 1
      await pause(Math.min(left(), (1_000 + luck() * 3_000) / density), signal)
    }
    await feeding
    await this.#storeStrike
    await Promise.all(this.#renewals)
  }

  /**
   * Credits are added when purchases have stopped, so that the floor is reached repeatedly. Tasks are added before they
   * run out.
   */
  async #feed(left: () => number): Promise<void> {
    const { site } = this.#options
    const charged = new Map<Wallet, number>()
    while (left() > 0) {
      await pause(Math.min(3_000, left()))
      const open = await site.openTasks()
      if (open !== null && open < wave) await site.refill(wave)
      for (const wallet of site.wallets) {
        const sums = await wallet.front.sums()
        const still = sums.charged === charged.get(wallet)
        charged.set(wallet, sums.charged)
        // The first stop happens without intervention: nothing is reserved yet, and the balance ends up close to the
        // floor.
        if (!still || sums.charged === 0 || left() === 0) continue
        await wallet.front.set({ credits: sums.balance + moreCredits })
        await site.command('resume', [], wallet)
      }
    }
  }

  #do(name: Strike, whom: number, size: number): boolean {
    const { site, crew } = this.#options
    switch (name) {
      case 'kills':
        return crew.strike(whom, 'SIGKILL')
      case 'farewells':
        return crew.strike(whom, 'SIGTERM')
      case 'freezes':
        return crew.freeze(whom, leaseMs * (0.4 + 1.8 * size))
      case 'delays':
      case 'silences':
      case 'cuts':
      case 'strandings':
      case 'clockSteps':
        return this.#strikeSeat(name, whom, size)
      case 'renewals':
        return this.#renew(site.wallets[whom < 0.5 ? 0 : 1])
      case 'foreignSpends':
        return this.#spend(site.wallets[whom < 0.5 ? 0 : 1], size)
      case 'keyChanges':
        return this.#changeKey(site.wallets[whom < 0.5 ? 0 : 1])
      case 'databaseRestarts':
        return this.#once(() => site.database.restart(size * 2_000))
      case 'restores':
        return this.#once(() => this.#restore(2_000 + size * 8_000))
      case 'fullDisks':
        return this.#once(() => this.#fillDisk(2_000 + size * 4_000))
      case 'redisRestarts':
        return this.#once(async () => site.redis?.restart(size * 2_000))
      case 'flushes':
        return this.#once(async () => site.redis?.flush())
      default:
        throw unhandled('strike', name)
    }
  }

  /** Disturbs a worker's connections for a while, possibly longer than its lease. */
  #strikeSeat(
    name: 'delays' | 'silences' | 'cuts' | 'strandings' | 'clockSteps',
    whom: number,
    size: number,
  ): boolean {
    const { crew, luck } = this.#options
    const seat = crew.undisturbed(whom)
    if (seat === undefined) return false
    const wire = seat.wire(luck())
    if (name === 'delays') wire.delay(5 + size * 300)
    if (name === 'silences') wire.hold(...(silences[Math.floor(size * silences.length)] ?? []))
    if (name === 'cuts') wire.cut()
    if (name === 'strandings') wire.strand()
    if (name === 'clockSteps') seat.clock?.set(Math.round((luck() - 0.5) * 10 ** (1 + 5 * size)))
    void pause(leaseMs * (0.2 + 1.4 * luck())).then(() => seat.calm())
    return true
  }

  /** An unannounced plan renewal while calls are in flight. */
  #renew({ front }: Wallet): boolean {
    const renewal = front
      .sums()
      .then(({ balance }) => front.set({ credits: balance + moreCredits }))
      .finally(() => this.#renewals.delete(renewal))
    this.#renewals.add(renewal)
    return true
  }

  /** Spending by another program that uses the account. */
  #spend({ front }: Wallet, size: number): boolean {
    void front.set({ spend: Math.ceil(size * foreignCredits) })
    return true
  }

  /** Issues a new key, starts workers with it, and revokes the old key some time later. */
  #changeKey(wallet: Wallet): boolean {
    if (this.#rotating.has(wallet)) return false
    this.#rotating.add(wallet)
    void this.#rotate(wallet).finally(() => this.#rotating.delete(wallet))
    return true
  }

  async #rotate(wallet: Wallet): Promise<void> {
    await wallet.front.changeKey()
    this.keyChecks.push({ account: wallet.name, at: Date.now(), credits: keyCheckCredits })
    this.#options.crew.relieve(wallet)
    await pause(2 * leaseMs)
    await wallet.front.revoke()
  }

  /** Replaces the database with an earlier state while workers are alive. */
  async #restore(ageMs: number): Promise<void> {
    const { site, say } = this.#options
    const from = Date.now()
    await site.database.remember()
    await pause(ageMs)
    site.skipWave()
    await site.database.setBack()
    this.setbacks.push({ from, until: Date.now() + straggleMs })
    say(`the database was set back by ${Math.round((Date.now() - from) / 1_000)} s`)
  }

  /**
   * Leaves no space for the database, the queue or unwritten answers, while a worker with unwritten answers is told to
   * end.
   */
  async #fillDisk(ms: number): Promise<void> {
    const { site, crew, luck } = this.#options
    this.#full = true
    site.disk?.fill()
    await pause(ms / 2)
    crew.strike(luck(), 'SIGTERM')
    await pause(ms / 2)
    site.disk?.free()
    await site.database.ensure()
    // A worker that checked the disk a moment ago may still be exiting.
    void pause(leaseMs).then(() => (this.#full = false))
  }

  /** Disturbs one store at a time, while workers continue to be disturbed. */
  #once(strike: () => Promise<void>): boolean {
    if (this.#storeStrike !== null) return false
    this.#storeStrike = strike().finally(() => {
      this.#storeStrike = null
    })
    return true
  }
}
