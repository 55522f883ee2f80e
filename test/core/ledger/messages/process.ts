import { setBack } from '../../../../src/base/database/trouble.ts'
import {
  decideAdmission,
  expectForward,
  giveUp,
  prepareAdmission,
  reservationOf,
  type Spender,
} from '../../../../src/core/ledger/reserve.ts'
import type { CallName, SettlementRules, Entry } from '../../../../src/core/ledger/settle.ts'
import { entryOf, lostCall, unsentCall } from '../../../../src/core/ledger/entry.ts'
import { type Clocks, coversCall, sparedUntil, termOf } from '../../../../src/core/ledger/leases.ts'
import { Brake, Outages } from '../../../../src/core/worker/outages.ts'
import type { Bought, Task } from '../../../../src/core/ledger/entry.ts'
import { spender } from '../books.ts'
import { nothing, requestOf } from './api.ts'
import { Connection, type Then } from './connection.ts'
import { saveReservation } from './reservation.ts'
import { leaseMs } from './tables.ts'
import { timeoutMs, type World } from './world.ts'

interface Flight {
  readonly task: Task
  readonly call: CallName
  /** The lease as known before the call was requested, and the time that the clocks had lost by then. */
  readonly lease: Lease
}

interface Lease {
  readonly term: Clocks
  readonly lost: { readonly stood: number; readonly set: number }
}

const lanes = 4
const dayMs = 86_400_000

/** A worker: applies the rules message by message, as `src/core/worker` does. */
export class Process extends Connection {
  readonly id: number
  readonly spender: Spender
  readonly clerk: SettlementRules
  readonly brake: Brake
  worker = 0
  /** Difference between its clocks and the true time. */
  stood = 0
  set = 0
  #suspended = false
  #lease: Lease = { term: { steady: 0, wall: 0 }, lost: { stood: 0, set: 0 } }
  #gateLease = this.#lease
  #beatAt = 0
  #spareUntil = 0
  #atGate = false
  #recovering = false
  readonly toSend: Flight[] = []
  readonly flying = new Map<string, Flight>()
  unwritten: Entry[] = []
  readonly #writing = new Set<readonly Entry[]>()

  constructor(world: World, { account, floor }: { account: number; floor: number }) {
    super(world)
    this.id = world.processes.length
    const { dailyBudget, mostInFlight } = world.plan
    const dayOf = (time: number) => {
      const days = Math.floor(time / dayMs)
      return { day: String(days).padStart(8, '0'), ends: (days + 1) * dayMs }
    }
    const key = 'key'
    this.clerk = { account, key, floor, rebuy: true }
    this.spender = {
      ...spender({ account, key, floor, dailyBudget, mostInFlight, dayOf }),
      worker: 0,
    }
    this.brake = new Brake({
      lease: { covers: (ms, term) => coversCall(term, this.clocks(), ms) },
      timeoutMs,
      outages: new Outages(),
      nudge: () => undefined,
      now: () => this.clocks().steady,
    })
  }

  clocks(): Clocks {
    const { now } = this.world
    return { steady: now - this.stood, wall: now + this.set }
  }

  /** Time passes; the monotonic clock of a sleeping machine stands still. */
  pass(ms: number): void {
    if (this.#suspended) this.stood += ms
  }

  sleep(suspended: boolean): void {
    this.asleep = true
    this.#suspended = suspended
  }

  wake(): void {
    this.asleep = false
    this.#suspended = false
  }

  die(): void {
    this.state = 'dead'
    this.asked = []
    for (const [mark, { process }] of this.world.truth.received) {
      if (process === this.id && this.holds(mark)) this.world.truth.received.delete(mark)
    }
    this.unwritten = []
    this.#writing.clear()
    this.flying.clear()
  }

  holds(mark: string): boolean {
    const among = (entries: readonly Entry[]) => entries.some(({ call }) => call.mark === mark)
    return among(this.unwritten) || [...this.#writing].some(among) || among(this.world.aside)
  }

  /** Settles the answers in files, then registers itself. */
  join(): void {
    this.#replay(() => {
      const [asked, lost] = [this.clocks(), { stood: this.stood, set: this.set }]
      const { account, floor } = this.clerk
      this.ask(
        () => this.world.tables.enter({ process: this.id, account, floor }),
        (id) => {
          if (id instanceof Error) return this.end()
          this.worker = id
          Object.assign(this.spender, { worker: id })
          this.#lease = { term: termOf(asked, leaseMs), lost }
          this.#beatAt = asked.steady
          if (this.state === 'starting') this.state = 'alive'
        },
      )
    })
  }

  /** One reservation attempt for some of the open tasks. */
  visit(luck: number): void {
    const room = lanes - this.toSend.length - this.flying.size - this.unwritten.length
    if (this.state !== 'alive' || this.#atGate || room <= 0) return
    const open = [...this.world.tables.shelf.tasks.values()].filter(({ state }) => state === 'open')
    const from = this.world.calm ? 0 : luck % Math.max(1, open.length)
    const tasks = open.slice(from, from + 1 + ((luck >>> 5) % room))
    if (tasks.length === 0) return
    this.#atGate = true
    this.#gateLease = this.#lease
    const wanted = tasks.map(({ id, class: name }) => ({ task: id, class: name, priority: 5 }))
    this.#decide(wanted, luck >>> 7)
  }

  #decide(
    wanted: readonly { task: number; class: string; priority: number }[],
    luck: number,
  ): void {
    const { tables } = this.world
    const { account } = this.clerk
    const ids = wanted.map(({ task }) => task)
    const read: {
      books?: ReturnType<typeof tables.readBooks>
      waiting?: ReturnType<typeof tables.readWaiting>
    } = {}
    const both = () => {
      const { books, waiting } = read
      if (books === undefined || waiting === undefined) return
      if (!this.#isForward(books) || !waiting.lease_live) return this.#leaveGate()
      const look = prepareAdmission(this.spender, {
        requested: wanted,
        books,
        tasks: waiting.tasks,
      })
      const urgent = new Map([[5, luck % 8 === 0 ? 2 : 0]])
      this.#reserve(reservationOf(this.spender, decideAdmission(look, urgent)))
    }
    const then =
      <T>(keep: (answer: T) => void): Then<T> =>
      (answer) => {
        if (answer instanceof Error) return this.#leaveGate()
        keep(answer)
        both()
      }
    this.ask(
      () => tables.readBooks(account),
      then((books) => (read.books = books)),
    )
    this.ask(
      () => tables.readWaiting(account, this.worker, ids),
      then((waiting) => (read.waiting = waiting)),
    )
  }

  #isForward(books: Parameters<typeof expectForward>[1]): boolean {
    try {
      expectForward(this.spender, books)
      return true
    } catch {
      this.end()
      return false
    }
  }

  #leaveGate(): void {
    this.#atGate = false
  }

  #reserve(reservation: ReturnType<typeof reservationOf>): void {
    if (reservation === null) return this.#leaveGate()
    const { tables, truth } = this.world
    const lease = this.#gateLease
    const write = () => {
      const before = tables.account(reservation.account_id)
      const open = new Map(
        reservation.grants.map(({ task }) => [task, tables.shelf.tasks.get(task)]),
      )
      const calls = saveReservation(tables, reservation)
      if (calls !== null) truth.reserved(reservation, before)
      return { calls, open }
    }
    this.ask(write, (answer) => {
      this.#leaveGate()
      if (answer instanceof Error) {
        giveUp(
          this.spender.givenUp,
          reservation.grants.map(({ mark }) => mark),
        )
        return
      }
      for (const { task, mark, query, class: name } of reservation.grants) {
        const id = answer.calls?.get(task)
        if (id === undefined) continue
        const spec = { q: query, location: null, hl: null, gl: null, num: 10, device: null }
        const asked = { id: task, run: 0, priority: 5, class: name, query: spec, queryId: query }
        this.toSend.push({
          task: { ...asked, suspect: false, refused: false },
          call: { id, mark },
          lease,
        })
      }
    })
  }

  /** Checks a last time whether the next call may go out, and sends it. */
  sendNext(): void {
    const next = this.toSend.shift()
    if (next === undefined) return
    const { call, task, lease } = next
    const held = this.brake.heldBack(lease.term)
    if (held !== null) {
      const reason = { kind: 'unsent', code: held, message: '' } as const
      return this.hear({ task, call, reply: reason, verdict: { ...nothing, ...reason } })
    }
    const mark = call.mark ?? ''
    // Since the lease was requested, one clock stood still and the other was set back.
    const blind = this.stood > lease.lost.stood && this.set < lease.lost.set
    this.world.truth.sent(mark, blind)
    this.flying.set(mark, next)
    this.world.send(requestOf(this.world, this, next))
  }

  hear(bought: Bought): void {
    this.flying.delete(bought.call.mark ?? '')
    const { verdict, call } = bought
    if (verdict.kind !== 'unsent') this.brake.applyReply(bought)
    if (verdict.kind === 'answered') {
      this.world.truth.received.set(call.mark ?? '', { process: this.id, call: call.id })
    }
    this.unwritten.push(entryOf(bought, { origin: 'live', api: 'api.example.com' }))
  }

  timeOut(luck: number): void {
    const flights = [...this.flying.values()]
    const flight = flights[luck % Math.max(1, flights.length)]
    if (flight === undefined) return
    const lost = { kind: 'lost', code: 'TIMEOUT', message: '' } as const
    const receivedAt = new Date(this.world.now)
    this.hear({
      ...flight,
      verdict: { ...nothing, ...lost },
      reply: { ...lost, status: null, partial: null, receivedAt },
    })
  }

  /** Records some of the replies. */
  write(luck: number): void {
    if (this.unwritten.length === 0 || this.#writing.size >= 2) return
    const count = this.world.calm ? this.unwritten.length : 1 + (luck % this.unwritten.length)
    const entries = this.unwritten.splice(0, count)
    this.#writing.add(entries)
    this.record(this.clerk, entries, (failed, strangers = []) => {
      this.#writing.delete(entries)
      if (failed) this.unwritten.push(...entries)
      this.world.aside.push(...strangers)
      if (strangers.length > 0) this.end()
    })
  }

  /** Sends heartbeats, settles files, gives up calls of dead workers, and releases reservations that it gave up. */
  recover(): void {
    if (this.state !== 'alive' || this.#recovering) return
    this.#recovering = true
    const over = () => (this.#recovering = false)
    this.#beat(() => {
      this.#replay(() => {
        const release = () => this.#release(over)
        if (this.clocks().steady < this.#spareUntil) return release()
        this.#reap(release, over)
      }, over)
    }, over)
  }

  #beat(then: () => void, otherwise: () => void): void {
    const [asked, lost] = [this.clocks(), { stood: this.stood, set: this.set }]
    this.ask(
      () => this.world.tables.beat(this.worker, this.id),
      (alive) => {
        if (alive instanceof Error) return otherwise()
        if (alive === null) {
          setBack(`worker ${this.worker} is missing`)
          this.end()
          return otherwise()
        }
        this.#lease = { term: termOf(asked, leaseMs), lost }
        const now = this.clocks().steady
        this.#spareUntil = sparedUntil(this.#spareUntil, { now, beatAt: this.#beatAt, leaseMs })
        this.#beatAt = now
        then()
      },
    )
  }

  #replay(then: () => void, otherwise: () => void = () => undefined): void {
    const [file] = this.world.files
    if (file === undefined) return then()
    const clerk = { ...this.clerk, account: file.account }
    this.record(clerk, file.entries, (failed, strangers = []) => {
      if (failed) return otherwise()
      this.world.aside.push(...strangers)
      this.world.files = this.world.files.filter((other) => other !== file)
      this.#replay(then, otherwise)
    })
  }

  #reap(then: () => void, otherwise: () => void): void {
    this.ask(
      () => this.world.tables.abandoned(),
      (abandoned) => {
        if (abandoned instanceof Error) return otherwise()
        const accounts = [...new Set(abandoned.map(({ account }) => account))]
        const next = (): void => {
          const account = accounts.pop()
          if (account === undefined) return then()
          const lost = abandoned.filter((call) => call.account === account)
          this.record(
            { ...this.clerk, account },
            lost.map(({ id, mark }) => lostCall({ id, mark })),
            (failed) => (failed ? otherwise() : next()),
          )
        }
        next()
      },
    )
  }

  #release(then: () => void): void {
    const { givenUp } = this.spender
    if (givenUp.size === 0) return then()
    const marks = new Set(givenUp)
    this.ask(
      () => this.world.tables.marked(this.worker, marks),
      (forgotten) => {
        if (forgotten instanceof Error || forgotten.length === 0) return then()
        this.record(
          this.clerk,
          forgotten.map(({ id, mark }) => unsentCall({ id, mark })),
          (failed) => {
            if (!failed) for (const { mark } of forgotten) givenUp.delete(mark)
            then()
          },
        )
      },
    )
  }

  /** Starts nothing more. */
  end(): void {
    if (this.state !== 'alive' && this.state !== 'starting') return
    this.state = 'ending'
    this.brake.end()
  }

  /** Returns remaining tasks; answers that the tables do not accept go into a file. */
  putAway(): void {
    if (this.state !== 'ending' || this.toSend.length > 0 || this.flying.size > 0) return
    if (this.#writing.size > 0 || this.#atGate || this.#recovering) return
    if (this.unwritten.length > 0) {
      this.world.files.push({ account: this.clerk.account, entries: this.unwritten })
      this.unwritten = []
    }
    this.state = 'gone'
    const { worker } = this
    this.ask(
      () => {
        const { workers } = this.world.tables.shelf
        const row = workers.get(worker)
        if (row?.process === this.id) workers.set(worker, { ...row, stopped: true })
      },
      () => undefined,
    )
  }
}
