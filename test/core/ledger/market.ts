import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Database } from '../../../src/base/database/database.ts'
import { codeOf } from '../../../src/base/errors.ts'
import { lowestBalance } from '../../../src/core/ledger/account.ts'
import { readBooks } from '../../../src/core/ledger/books.ts'
import { Lease } from '../../../src/core/ledger/leases.ts'
import {
  decideAdmission,
  prepareAdmission,
  reservationOf,
  type Reservation,
  saveReservation,
} from '../../../src/core/ledger/reserve.ts'
import {
  booksChanged,
  type CallName,
  type Entry,
  judgeTasks,
  matchEntries,
  readCalls,
  saveSettlement,
  type Settlement,
  settlementOf,
} from '../../../src/core/ledger/settle.ts'
import { readWaiting } from '../../../src/core/ledger/waiting.ts'
import { lostCall, unsentCall } from '../../../src/core/ledger/entry.ts'
import { entry, spender } from './books.ts'
import { promise } from './promise.ts'

// Several workers with the real statements: each reads, decides and writes in any order relative to the others.
// Sometimes two write at the same moment, and some write twice. The API keeps its own record of charges.

const price = 5
const floor = 20
const day = '2027-01-15'

/** A call that may reach the API. */
interface Flight {
  readonly name: CallName
  readonly seq: number
  charged: boolean
  entry: Entry | null
  /** True once it was given up so long ago that the API no longer charges it. */
  over: boolean
}

/** Limits of an account: its budgets, and its calls in flight. */
interface Terms {
  readonly list: number
  readonly balance: number
  readonly budget: number | null
  readonly most: number | null
}

/** One account, its run, and the records of the API. */
export class Market {
  readonly id: number
  readonly #db: Database
  readonly #worker: number
  readonly #tasks: readonly number[]
  readonly #most: number | null
  #balance: number
  /** Credits spent below the floor by probes of the balance. */
  #probed = 0
  readonly #flights: Flight[] = []
  readonly #decisions: Reservation[] = []
  readonly #settlements: Settlement[] = []

  private constructor(given: {
    db: Database
    account: number
    worker: number
    tasks: readonly number[]
    balance: number
    most: number | null
  }) {
    this.id = given.account
    this.#db = given.db
    this.#worker = given.worker
    this.#tasks = given.tasks
    this.#balance = given.balance
    this.#most = given.most
  }

  static async open(db: Database, { list, balance, budget, most }: Terms): Promise<Market> {
    const { rows } = await sql<{ account: number; run: number }>`
      with account as (
        insert into accounts (name, kind, seq, obs_seq, obs_at, obs_remaining, day)
        values (gen_random_uuid(), 'live', 1, 1, clock_timestamp(), ${balance}, ${day})
        returning id
      ),
      run as (
        insert into runs (list_id, run_date, kind, state, budget) values (${list}, current_date, 'nightly', 'open', ${budget})
        returning id
      )
      select account.id as account, run.id as run from account, run`.execute(db)
    const { account, run } = rows[0] ?? { account: 0, run: 0 }
    await sql`
      insert into account_costs (account_id, class, dearest, cheapest, seen, earlier_first, earlier_second, earlier_count)
      values (${account}, '10/-', ${price}, ${price}, 30, ${price}, ${price}, 30)`.execute(db)
    const lease = await Lease.open({ db, account, floor, lanes: 4, leaseMs: 3_600_000 })
    const made = await sql<{ id: number }>`
      insert into tasks (run_id, query_id, slice)
      select ${run}, gen_random_uuid(), 0 from generate_series(1, 12)
      returning id`.execute(db)
    const tasks = made.rows.map(({ id }) => id)
    return new Market({ db, account, worker: lease.worker, tasks, balance, most })
  }

  /** A worker reads the ledger and decides; it writes the decision later. */
  async look(luck: number): Promise<void> {
    const who = spender({
      ...{ account: this.id, worker: this.#worker, floor: luck % 3 === 0 ? floor : 0 },
      dayOf: () => ({ day, ends: 4_000_000_000_000 }),
      mostInFlight: this.#most,
    })
    const tasks = this.#tasks.slice(luck % 6, (luck % 6) + 1 + (luck % 5))
    const books = await readBooks(this.#db, this.id)
    const { tasks: waiting } = await readWaiting(this.#db, { ...who, tasks })
    const wanted = tasks.map((task) => ({ task, class: '10/-', priority: 5 }))
    const look = prepareAdmission(who, { requested: wanted, books, tasks: waiting })
    const reservation = reservationOf(who, decideAdmission(look, new Map()))
    if (reservation !== null) this.#decisions.push(reservation)
  }

  /** Two decisions are written at the same moment, the second possibly twice; one reply may be lost. */
  async reserve(luck: number): Promise<void> {
    const both = this.#decisions.splice(luck % Math.max(1, this.#decisions.length), 2)
    const twice = luck % 5 === 0 ? both.slice(-1) : []
    const before = lowestBalance((await readBooks(this.#db, this.id)).account) ?? 0
    const written = await Promise.all(
      [...both, ...twice].map(async (reservation) => {
        return { reservation, calls: await saveReservation(this.#db, reservation) }
      }),
    )
    for (const { reservation, calls } of written) {
      for (const { task, mark, probe, bound } of reservation.grants) {
        const id = calls?.get(task)
        if (id === undefined) continue
        if (probe && before - bound < floor) this.#probed += bound
        const flight = { name: { id, mark }, seq: id, charged: false, entry: null, over: false }
        this.#flights.push(luck % 7 === 0 ? { ...flight, entry: unsentCall(flight.name) } : flight)
      }
    }
  }

  /** The API charges a call, and its reply may be lost. */
  charge(luck: number): void {
    const waiting = this.#flights.filter(({ charged, over, entry: ended }) => {
      return !charged && !over && ended?.ending.kind !== 'unsent'
    })
    const flight = waiting[luck % Math.max(1, waiting.length)]
    if (flight === undefined) return
    flight.charged = true
    this.#balance -= price
    const least = floor - this.#probed
    promise(this.#balance >= least, () => `balance ${this.#balance} is below ${least}`)
    const remaining = luck % 4 === 0 ? null : this.#balance
    const told = { kind: 'settled', used: price, remaining, priced: true } as const
    flight.entry =
      luck % 6 === 0
        ? lostCall(flight.name)
        : entry(flight.name.id, {
            ...{ call: flight.name, ending: told, creditsUsed: price, creditsRemaining: remaining },
          })
  }

  /** A call is given up, although its answer may still arrive. */
  giveUp(luck: number): void {
    const flight = this.#flights[luck % Math.max(1, this.#flights.length)]
    if (flight !== undefined) flight.entry ??= lostCall(flight.name)
  }

  /** A worker reads the finished calls and computes their effects. */
  async judge(luck: number): Promise<void> {
    const ended = this.#flights.flatMap((flight) => flight.entry ?? [])
    const from = luck % Math.max(1, ended.length)
    const entries = ended.slice(from, from + 1 + (luck % 4))
    const calls = await readCalls(
      this.#db,
      this.id,
      entries.map(({ call }) => call.id),
    )
    const { matched } = matchEntries(entries, calls)
    if (matched.length === 0) return
    const changes = judgeTasks(matched, { rebuy: true, jitter: 0 })
    const clerk = { account: this.id, key: 'key', floor, rebuy: true }
    const settlement = settlementOf(clerk, { matched, changes, jitter: 0 })
    // Tried again at once, not only after a second.
    this.#settlements.push({ ...settlement, tasks: settlement.tasks.map(atOnce) })
  }

  /** Two settlements are written at the same moment, the second possibly twice. */
  async settle(luck: number): Promise<void> {
    const both = this.#settlements.splice(luck % Math.max(1, this.#settlements.length), 2)
    const twice = luck % 3 === 0 ? both.slice(-1) : []
    await Promise.all([...both, ...twice].map((settlement) => this.#write(settlement)))
  }

  async #write(settlement: Settlement): Promise<void> {
    try {
      await saveSettlement(this.#db, settlement, [])
    } catch (error) {
      if (codeOf(error) !== booksChanged) throw error
    }
  }

  /** Minutes pass: calls that were given up are no longer charged, and newer balances include them. */
  async wait(): Promise<void> {
    const { rows } = await sql<{ id: number }>`
      update calls set unknown_at = unknown_at - interval '5 minutes'
      where account_id = ${this.id} and outcome = 'unknown' and washed_at is null
      returning id`.execute(this.#db)
    for (const { id } of rows) {
      for (const flight of this.#flights) if (flight.name.id === id) flight.over = true
    }
  }

  async check(): Promise<void> {
    const { rows } = await sql<{
      reserved: number
      flying: number
      uncertain: number
      used: number
      spent: number
      held: number
      unread: number
    }>`
      select
        coalesce(sum(c.credits_reserved) filter (where c.outcome is null), 0)::integer as reserved,
        count(*) filter (where c.outcome is null and c.id is not null)::integer as flying,
        coalesce(sum(c.credits_reserved) filter (where c.outcome = 'unknown' and c.washed_at is null), 0)::integer as uncertain,
        coalesce(sum(c.credits_used) filter (where c.outcome = 'settled'), 0)::integer as used,
        max(r.spent)::integer as spent,
        max(r.uncertain)::integer as held,
        coalesce(sum(c.credits_reserved) filter (where c.outcome = 'unknown'), 0)::integer as unread
      from runs r
      join tasks t on t.run_id = r.id
      left join calls c on c.task_id = t.id
      where r.id = (select run_id from tasks where id = ${this.#tasks[0] ?? 0})`.execute(this.#db)
    const { account } = await readBooks(this.#db, this.id)
    const sums = rows[0] ?? {
      reserved: 0,
      flying: 0,
      uncertain: 0,
      used: 0,
      spent: 0,
      held: 0,
      unread: 0,
    }
    const said = {
      ...{ reserved: account.reserved, flying: account.inFlight, uncertain: account.uncertain },
      ...{ used: account.usedTotal, spent: sums.spent, held: sums.held },
    }
    const { unread: _, ...found } = { ...sums, spent: sums.used, held: sums.unread }
    promise(isDeepStrictEqual(found, said), () => {
      return `the books say ${JSON.stringify(said)}, the calls ${JSON.stringify(found)}`
    })
    const most = this.#most ?? Infinity
    promise(account.inFlight <= most, () => `${account.inFlight} are in flight, not ${most}`)
    const low = lowestBalance(account) ?? 0
    const left = this.#balance - (await this.#mayStillCharge())
    promise(low <= left, () => `the books prove ${low}, but ${left} may be left`)
  }

  /** Credits reserved for calls that the API has not charged yet but may charge. */
  async #mayStillCharge(): Promise<number> {
    const { rows } = await sql<{ id: number }>`
      select id from calls
      where account_id = ${this.id} and (outcome is null or outcome = 'unknown' and washed_at is null)`.execute(
      this.#db,
    )
    const open = new Set(rows.map(({ id }) => id))
    return (
      this.#flights.filter(({ name, charged, over, entry: ended }) => {
        return open.has(name.id) && !charged && !over && ended?.ending.kind !== 'unsent'
      }).length * price
    )
  }
}

function atOnce(task: Settlement['tasks'][number]): Settlement['tasks'][number] {
  return task.wait_ms === undefined ? task : { ...task, wait_ms: 0 }
}
