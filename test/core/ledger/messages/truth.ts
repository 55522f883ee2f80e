import type { StoredAnswer } from '../../../../src/base/answer.ts'
import { constants, lowestBalance } from '../../../../src/core/ledger/account.ts'
import type { Reservation } from '../../../../src/core/ledger/reserve.ts'
import { promise } from '../promise.ts'
import type { Observed } from './plan.ts'
import type { AccountBooks, CallRow, Shelf } from './rows.ts'

/** What really happened to a call, by its mark, which is never reused. */
interface Deed {
  readonly account: number
  readonly task: number
  readonly mark: string
  sent: boolean
  /** Sent by a machine on which both clocks failed to show the time that had passed. */
  blind: boolean
  cost: number
  /** The lowest amount that was ever reserved for it. */
  bound: number
  event: number
  /** True once the database has lost its record of it. */
  forgotten: boolean
  /** True once a copy of its request reached the API; its price is then external spend. */
  copied: boolean
}

/** Compares the actions of processes and the contents of tables with what really happened. */
export class Truth {
  readonly #world: Observed
  readonly #deeds = new Map<string, Deed>()
  readonly balances: number[]
  readonly #begun: number[]
  readonly #probes: number[]
  readonly #probeCredits: number[]
  readonly #floors: number[]
  readonly #elsewhere: { account: number; event: number; credits: number }[] = []
  /** Answers received by a process, by mark; removed if they were lost with it. */
  readonly received = new Map<string, { process: number; call: number }>()
  resumes = 0
  #wasSetBack = false
  #checked = -1

  constructor(world: Observed) {
    const { balance, accounts } = world.plan
    this.#world = world
    const each = <T>(value: T) => Array.from({ length: accounts }, () => value)
    this.balances = each(balance)
    this.#begun = each(balance)
    this.#probes = each(0)
    this.#probeCredits = each(0)
    this.#floors = each(Number.POSITIVE_INFINITY)
  }

  /** The tables accepted a reservation. */
  reserved(reservation: Reservation, before: AccountBooks): void {
    const { account_id: account, grants } = reservation
    const floor = Math.max(reservation.floor, this.#world.tables.floorOf(account))
    this.#floors[account] = Math.min(this.#floors[account] ?? 0, floor)
    let low = lowestBalance(before.account)
    for (const { mark, task, bound, probe } of grants) {
      const event = this.#world.tables.event
      const deed = { account, task, mark, sent: false, blind: false, cost: 0, bound, event }
      this.#deeds.set(mark, { ...deed, forgotten: false, copied: false })
      if (low !== null) low -= bound
      if (probe && !(low !== null && low >= floor)) this.#probed(account, bound)
      const state = this.#world.tables.shelf.tasks.get(task)?.state
      promise(state === 'open', () => `a call was reserved for a task that is ${state}`)
    }
  }

  #probed(account: number, bound: number): void {
    this.#probes[account] = (this.#probes[account] ?? 0) + 1
    this.#probeCredits[account] = (this.#probeCredits[account] ?? 0) + bound
    const most = constants.blindCalls + this.resumes
    const made = this.#probes[account] ?? 0
    promise(this.#wasSetBack || made <= most, () => `${made} probes, ${this.resumes} resumes`)
  }

  /** A process sends a request. */
  sent(mark: string, blind: boolean): void {
    const deed = this.#deeds.get(mark)
    promise(deed !== undefined, () => 'a call was sent that was never reserved')
    if (deed === undefined) return
    promise(!deed.sent, () => 'a call was sent twice')
    deed.sent = true
    deed.blind = blind
    const row = this.rowOf(mark)
    promise(row?.outcome !== 'unsent', () => 'a call was sent that had been released')
    promise(
      blind || this.#wasSetBack || row?.outcome === null,
      () => `a call was sent that was ${row?.outcome}`,
    )
  }

  rowOf(mark: string): CallRow | undefined {
    for (const call of this.#world.tables.shelf.calls.values()) if (call.mark === mark) return call
    return undefined
  }

  /** True when the API no longer charges a call: it ended on our side too long ago. */
  isOver(mark: string): boolean {
    const row = this.rowOf(mark)
    if (row?.outcome !== 'unknown') return false
    return this.#world.now >= row.unknownAt + constants.graceMs
  }

  /** A copy of a request reached the API. */
  copied(mark: string): void {
    const deed = this.#deeds.get(mark)
    if (deed !== undefined) deed.copied = true
  }

  /** The API charged a call; `again` for a copy of its request. */
  charged(mark: string, cost: number, again: boolean): void {
    const deed = this.#deeds.get(mark)
    if (deed === undefined) throw new Error('expected a call that was reserved')
    this.#world.tables.event += 1
    this.balances[deed.account] = (this.balances[deed.account] ?? 0) - cost
    if (again) this.#spentElsewhere(deed.account, cost)
    else deed.cost = cost
    const row = this.rowOf(mark)
    if (row === undefined) deed.forgotten = true
    promise(row !== undefined || this.#wasSetBack, () => 'a charge has no call')
    this.#checkFloor(deed.account)
    this.#checkTwice(deed.task)
  }

  pay(account: number, credits: number): void {
    this.balances[account] = (this.balances[account] ?? 0) + credits
  }

  spendElsewhere(account: number, credits: number): void {
    const taken = Math.min(credits, this.balances[account] ?? 0)
    this.balances[account] = (this.balances[account] ?? 0) - taken
    this.#spentElsewhere(account, taken)
  }

  #spentElsewhere(account: number, credits: number): void {
    this.#world.tables.event += 1
    this.#elsewhere.push({ account, credits, event: this.#world.tables.event })
  }

  #checkFloor(account: number): void {
    let slack = this.#probeCredits[account] ?? 0
    for (const one of this.#elsewhere) if (one.account === account) slack += one.credits
    for (const deed of this.#deeds.values()) {
      if (deed.account !== account) continue
      slack +=
        deed.forgotten || deed.blind || deed.copied
          ? deed.cost
          : Math.max(0, deed.cost - deed.bound)
    }
    const floor = Math.min(this.#floors[account] ?? 0, this.#begun[account] ?? 0)
    const balance = this.balances[account] ?? 0
    promise(balance >= floor - slack, () => `balance ${balance} is below ${floor} - ${slack}`)
  }

  #checkTwice(task: number): void {
    let charges = 0
    for (const deed of this.#deeds.values()) {
      if (deed.task === task && deed.cost > 0 && !deed.forgotten && !deed.copied) charges += 1
    }
    const unread = this.#world.tables.shelf.tasks.get(task)?.ambiguous ?? 0
    promise(
      charges <= 1 + unread || this.#wasSetBack,
      () => `task ${task} was bought ${charges} times, ${unread} unread`,
    )
  }

  stored({ callId, search }: StoredAnswer): void {
    const row = this.#world.tables.shelf.calls.get(callId)
    const asked = search?.answer.intent ?? row?.query
    promise(asked === row?.query, () => `an answer to ${asked} was given to ${row?.query}`)
  }

  /** Everything since the copy was made is lost: its cost is unknown until an answer reports a balance. */
  setBack(copy: Shelf): void {
    this.#wasSetBack = true
    const outcomes = new Map([...copy.calls.values()].map(({ mark, outcome }) => [mark, outcome]))
    for (const deed of this.#deeds.values()) {
      const then = outcomes.get(deed.mark)
      if (then === undefined || then !== this.rowOf(deed.mark)?.outcome) deed.forgotten = true
    }
  }

  /** Checks that must hold between any two events; repeated after each event that changed something. */
  check(): void {
    const { tables } = this.#world
    if (tables.event === this.#checked) return
    this.#checked = tables.event
    const { shelf } = tables
    const books = shelf.accounts.map((_, id) => ({ ...nothing, worst: this.balances[id] ?? 0 }))
    const purses = shelf.runs.map(() => ({ spent: 0, uncertain: 0, reserved: 0 }))
    for (const call of shelf.calls.values()) {
      const deed = this.#deeds.get(call.mark)
      const sums = books[call.account]
      if (deed === undefined || sums === undefined) continue
      deed.bound = Math.min(deed.bound, call.bound)
      const lies = call.outcome === 'unsent' && deed.sent
      promise(!lies, () => 'a call was released as never sent that had been sent')
      addCall(sums, call, deed)
      const purse = purses[shelf.tasks.get(call.task)?.run ?? -1]
      if (purse !== undefined) pay(purse, call)
    }
    books.forEach((sums, id) => this.#checkSums(id, sums))
    shelf.runs.forEach(({ spent, uncertain, reserved }, id) => {
      const purse = purses[id] ?? { spent: 0, uncertain: 0, reserved: 0 }
      promise(spent === purse.spent, () => `run ${id} spent ${spent}, not ${purse.spent}`)
      promise(uncertain === purse.uncertain, () => `run ${id} holds ${uncertain}`)
      promise(reserved === purse.reserved, () => `run ${id} reserved ${reserved}`)
    })
  }

  #checkSums(id: number, { reserved, inFlight, uncertain, used, worst }: Sums): void {
    const { account } = this.#world.tables.account(id)
    promise(account.reserved === reserved, () => `reserved ${account.reserved}, not ${reserved}`)
    promise(account.inFlight === inFlight, () => `in flight ${account.inFlight}, not ${inFlight}`)
    promise(account.uncertain === uncertain, () => `held ${account.uncertain}, not ${uncertain}`)
    promise(account.usedTotal === used, () => `used ${account.usedTotal}, not ${used}`)
    const low = lowestBalance(account)
    if (low === null || this.#wasSetBack) return
    let most = worst
    const newest = this.#eventOf(id, account.seen?.seq ?? 0)
    for (const one of this.#elsewhere) {
      if (one.account === id && one.event > newest) most += one.credits
    }
    promise(low <= most, () => `the books prove ${low}, but ${most} may be left`)
  }

  #eventOf(account: number, seq: number): number {
    for (const call of this.#world.tables.shelf.calls.values()) {
      if (call.account === account && call.seq === seq) return call.event
    }
    return 0
  }

  /** No received answer is lost, unless its process died with it. */
  checkKept(): void {
    if (this.#wasSetBack) return
    const { answers } = this.#world.tables.shelf
    for (const [mark, { process, call }] of this.received) {
      const owner = this.#world.processes[process]
      const inFile = this.#world.files.some(({ entries }) => {
        return entries.some((entry) => entry.call.mark === mark)
      })
      const kept = answers.has(call) || owner?.holds(mark) === true || inFile
      promise(kept, () => 'an answer that had come is gone')
    }
  }
}

interface Sums {
  reserved: number
  inFlight: number
  uncertain: number
  used: number
  /** The lowest possible balance in the worst case. */
  worst: number
}

const nothing = { reserved: 0, inFlight: 0, uncertain: 0, used: 0 }

function addCall(sums: Sums, call: CallRow, { cost, blind, copied }: Deed): void {
  const open = call.outcome === null || (call.outcome === 'unknown' && !call.washed)
  if (call.outcome === null) {
    sums.reserved += call.bound
    sums.inFlight += 1
  } else if (open) sums.uncertain += call.bound
  if (call.outcome === 'settled') sums.used += call.used
  if (open) sums.worst += cost === 0 ? -call.bound : Math.max(0, cost - call.bound)
  else if (blind) sums.worst += cost
  if (copied) sums.worst += cost
}

function pay(
  purse: { spent: number; uncertain: number; reserved: number },
  { outcome, bound, used }: CallRow,
): void {
  if (outcome === null) purse.reserved += bound
  else if (outcome === 'unknown') purse.uncertain += bound
  else purse.spent += used
}
