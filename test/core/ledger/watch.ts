import { type Account, constants, lowestBalance } from '../../../src/core/ledger/account.ts'
import type { GrantedCall, Deferral, Rules } from '../../../src/core/ledger/admission.ts'
import type { Signal } from '../../../src/core/ledger/settle.ts'
import { checkBound, checkRate } from './bounds.ts'
import { promise } from './promise.ts'
import { checkBudgets } from './purses.ts'
import { monthOf, type Reply, type Row, type World } from './world.ts'

interface Circumstances {
  readonly before: Account
  readonly rules: Rules
  readonly urgent: number
}

/** Compares the decisions of the core with the server's records and the rows. */
export class Watch {
  readonly #world: World
  #probeCredits = 0
  /** Probes below the floor since the last ordinary call, and how many of them may go out without a renewal. */
  #probes = 0
  #allowed: number = constants.blindCalls
  #excess = 0
  #lowestFloor = Number.POSITIVE_INFINITY
  #newest: { seq: number; at: number; event: number } | null = null
  #refusedKey: string | null = null
  #notBefore = 0
  #rounds = 0
  #standingFloor: number | null = null

  constructor(world: World) {
    this.#world = world
  }

  granted(grant: GrantedCall, { before, rules, urgent }: Circumstances): void {
    const world = this.#world
    const earlier = world.unsettled.filter(({ outcome }) => outcome === null)
    const room = this.#provenRoom(before, rules.floor, world.unsettled) - grant.bound
    const crossing = grant.probe && !(room >= 0)
    promise(rules.key !== this.#refusedKey, () => 'a call went out with a refused key')
    promise(world.now >= this.#notBefore, () => 'a call began before the time the API asked for')
    promise(grant.seq > (world.rows.at(-1)?.seq ?? 0), () => 'starts are not numbered upwards')
    if (grant.probe) promise(earlier.length === 0, () => 'a probe did not go out alone')
    if (crossing) {
      this.#probes += 1
      this.#probeCredits += grant.bound
      promise(
        this.#probes <= this.#allowed + constants.blindCalls * world.renewals,
        () => `${this.#probes} probes, ${this.#allowed} allowed, ${world.renewals} renewals`,
      )
    } else {
      promise(room >= 0, () => `no proven room for ${grant.bound}: ${room}`)
    }
    if (!grant.probe) {
      this.#checkFlow(grant, { before, rules, urgent }, room)
      this.#probes = 0
      this.#allowed = 0
    }
    checkBound(world, grant, earlier)
    checkRate(world)
    checkBudgets(world, grant)
    this.#lowestFloor = Math.min(this.#lowestFloor, rules.floor)
  }

  /** Credits above the floor that the rows prove. */
  #provenRoom(account: Account, floor: number, unsettled: readonly Row[]): number {
    const { seen } = account
    if (seen === null) return Number.NaN
    let low = Math.max(seen.remaining - account.spentSince, this.#leastTold(seen.remaining))
    for (const { bound } of unsettled) low -= bound
    return low - floor
  }

  /** The lowest balance reported since the newest known one was requested, minus costs reported without a balance. */
  #leastTold(remaining: number): number {
    const since = this.#world.rows.filter(
      ({ outcome, endedAt }) => outcome === 'settled' && endedAt > (this.#newest?.event ?? 0),
    )
    let least = remaining
    let untold = 0
    for (const { remaining: told, used } of since) {
      if (told === null) untold += used
      else least = Math.min(least, told)
    }
    return least - untold
  }

  #checkFlow(grant: GrantedCall, { rules, urgent }: Circumstances, room: number): void {
    const stale = this.#newest === null || rules.now - this.#newest.at > constants.oldestSightingMs
    promise(!stale, () => 'calls flow although the balance was not seen for long')
    promise(room >= grant.bound * urgent, () => 'a less urgent call took credit from urgent ones')
    const standing = this.#standingFloor
    if (standing !== null && rules.floor >= standing) {
      const dearest = Math.max(
        0,
        ...this.#world.rows.map(({ priced, used }) => (priced ? used : 0)),
      )
      promise(room >= 2 * dearest, () => 'a drained account went on with too little')
    }
    this.#standingFloor = null
  }

  rested(rest: Deferral, { floor }: Rules): void {
    if (rest.kind !== 'stop') return
    const final = rest.reason === 'credit_floor' || rest.reason === 'budget'
    const { inFlight } = this.#world.account
    promise(!final || inFlight === 0, () => 'stopped while calls in flight could tell more')
    if (rest.reason === 'credit_floor') this.#standingFloor = floor
  }

  resumed(): void {
    this.#allowed += constants.blindCalls
    this.#refusedKey = null
    this.#notBefore = 0
  }

  /** The server charged something: checks that the balance is still within its limits. */
  charged({ cost, bound }: Row): void {
    if (cost === null || cost === 0) return
    const { balance, others, plan } = this.#world
    this.#excess += Math.max(0, cost - bound)
    // The ledger can't raise an account that began below its floor.
    const floor = Math.min(this.#lowestFloor, plan.balance)
    const least = floor - this.#excess - others - this.#probeCredits
    promise(balance >= least, () => `balance ${balance} is below ${least}`)
  }

  /** Called before replies are recorded. */
  heard(ended: readonly { row: Row; reply: Reply }[], signals: readonly Signal[]): void {
    const { now } = this.#world
    for (const { row, reply } of ended) {
      const told = reply.ending.kind === 'settled' && reply.ending.remaining !== null
      const broke = reply === row.reply && reply.signal === 'no_credit'
      if ((told || broke) && row.seq > (this.#newest?.seq ?? 0)) {
        this.#newest = { seq: row.seq, at: row.startedAt, event: row.event }
        if (broke) this.#standingFloor = this.#world.floor
      }
    }
    for (const signal of signals) {
      if (signal.kind === 'key_refused') this.#refusedKey = signal.key
      if (signal.kind === 'slow_down') {
        if (signal.startedAt >= this.#notBefore) this.#rounds += 1
        const wait = Math.max(1_000, signal.waitMs ?? 0)
        this.#notBefore = Math.max(this.#notBefore, now + wait)
      }
    }
  }

  /** Checks that must hold between any two events. */
  check(): void {
    const { account, rows, unsettled } = this.#world
    let reserved = 0
    let inFlight = 0
    let uncertain = 0
    for (const { outcome, bound } of unsettled) {
      if (outcome === null) {
        reserved += bound
        inFlight += 1
      } else uncertain += bound
    }
    promise(account.reserved === reserved, () => `reserved ${account.reserved}, not ${reserved}`)
    promise(account.inFlight === inFlight, () => `in flight ${account.inFlight}, not ${inFlight}`)
    promise(
      account.uncertain === uncertain,
      () => `uncertain ${account.uncertain}, not ${uncertain}`,
    )
    const used = rows.reduce((sum, row) => sum + row.used, 0)
    this.#checkDay()
    promise(account.usedTotal === used, () => `used ${account.usedTotal}, not ${used}`)
    promise((account.seen?.seq ?? 0) === (this.#newest?.seq ?? 0), () => 'not the newest sighting')
    promise(
      account.slowdowns <= this.#rounds,
      () => `${account.slowdowns} slowdowns in ${this.#rounds} rounds`,
    )
    promise(this.#newest !== null || inFlight <= 1, () => 'several blind calls at once')
    this.#checkBalance()
  }

  /** The spending of the day and of the month covers at least the calls that began in them. */
  #checkDay(): void {
    const { account, day, rows } = this.#world
    if (Number(account.day ?? 0) !== day) return
    let spent = 0
    for (const row of rows) {
      if (row.day === day) spent += row.outcome === 'unknown' ? row.bound : row.used
    }
    promise(account.daySpent >= spent, () => `the day spent ${spent}, not ${account.daySpent}`)
    const { month } = this.#world
    let lately = 0
    for (const row of rows) {
      if (monthOf(row.day) === month) lately += row.outcome === 'unknown' ? row.bound : row.used
    }
    const { monthSpent } = account
    promise(monthSpent >= lately, () => `the month spent ${lately}, not ${monthSpent}`)
  }

  /** The lower bound in the ledger is valid: the balance is never below it. */
  #checkBalance(): void {
    const { account, balance, unsettled, spentByOthers } = this.#world
    const low = lowestBalance(account)
    if (low === null) return
    let worst = balance
    for (const { cost, bound, void: never } of unsettled) {
      if (cost === null) worst -= never ? 0 : bound
      else worst += Math.max(0, cost - bound)
    }
    for (const { event, credits } of spentByOthers) {
      if (event > (this.#newest?.event ?? 0)) worst += credits
    }
    promise(low <= worst, () => `the books prove ${low}, but ${worst} may be left`)
  }
}
