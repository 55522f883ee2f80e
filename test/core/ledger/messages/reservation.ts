import { isDeepStrictEqual } from 'node:util'
import { type Account, lowestBalance } from '../../../../src/core/ledger/account.ts'
import type { Reservation } from '../../../../src/core/ledger/reserve.ts'
import type { AccountBooks, TaskRow } from './rows.ts'
import type { Tables } from './tables.ts'

/** Simulates sql/statements/reserve_calls.sql: the decision is written if it is still valid, otherwise nothing is. */
export function saveReservation(
  tables: Tables,
  reservation: Reservation,
): ReadonlyMap<number, number> | null {
  const books = tables.account(reservation.account_id)
  const same = String(books.version) === reservation.version
  if (!fits(tables, reservation, books)) return null
  tables.event += 1
  const granted = insertCalls(tables, reservation, books.account)
  const bound = reservation.grants.reduce((sum, grant) => sum + grant.bound, 0)
  const { shelf } = tables
  const costs = new Map(books.costs)
  for (const name of reservation.trying) {
    costs.set(name, { ...(costs.get(name) ?? untried), trying: true })
  }
  shelf.accounts[reservation.account_id] = {
    account: {
      ...books.account,
      ...(same ? stateFrom(reservation.state) : { drainedFloor: null }),
      seq: books.account.seq + reservation.grants.length,
      reserved: books.account.reserved + bound,
      inFlight: books.account.inFlight + reservation.grants.length,
    },
    costs,
    version: books.version + 1,
  }
  for (const { task: id, search } of reservation.reused) {
    end(tables, id, { state: 'reused', search })
  }
  giveUpTasks(tables, reservation)
  for (const { run: id, reserved } of reservation.runs) {
    const run = tables.run(id)
    shelf.runs[id] = { ...run, reserved: run.reserved + reserved }
  }
  return granted
}

const noPeak = { first: 0, second: 0, count: 0 }
const untried = {
  ...{ dearest: 0, cheapest: 0, seen: 0, trying: false },
  ...{ recent: noPeak, earlier: noPeak },
}

function fits(tables: Tables, reservation: Reservation, books: AccountBooks): boolean {
  const { account } = books
  if (!tables.isLive(reservation.worker)) return false
  if (reservation.tasks.some((task) => hasChanged(tables, reservation, task))) return false
  if (reservation.runs.some((run) => isDrawnOn(tables, run))) return false
  if (String(books.version) !== reservation.version) {
    const steady =
      reservation.steady &&
      account.drainedFloor === null &&
      (account.notBefore ?? 0) <= tables.now &&
      !account.blockedKeys.includes(reservation.key) &&
      account.day === reservation.state.day &&
      account.month === reservation.state.month &&
      !reservation.grants.some(({ class: name, bound }) => {
        const cost = books.costs.get(name)
        const dearest = Math.max(cost?.recent.first ?? 0, cost?.earlier.first ?? 0, 1)
        return bound < dearest || (cost?.seen ?? 0) < 30
      })
    if (!steady) return false
  }
  const { grants, counts, most_in_flight: most } = reservation
  if (grants.length > 0 && account.inFlight + grants.length > (most ?? Infinity)) return false
  if (!counts || grants.length === 0 || grants.some(({ probe }) => probe)) return true
  const bound = grants.reduce((sum, grant) => sum + grant.bound, 0)
  const floor = Math.max(reservation.floor, tables.floorOf(reservation.account_id))
  return (lowestBalance(account) ?? Number.NEGATIVE_INFINITY) - bound >= floor
}

function hasChanged(
  tables: Tables,
  { account_id: account }: Reservation,
  { id, version, reused }: Reservation['tasks'][number],
): boolean {
  const task = tables.shelf.tasks.get(id)
  if (task === undefined || String(task.version) !== version) return true
  const asked = tables.inFlight((call) => {
    return call.task === id || (call.account === account && call.query === task.query)
  })
  return (
    asked || (!reused && tables.freshAnswer(task.query, tables.run(task.run).maxAgeMs) !== null)
  )
}

function isDrawnOn(tables: Tables, read: Reservation['runs'][number]): boolean {
  const { budget, spent, uncertain, reserved } = tables.run(read.run)
  if (!isDeepStrictEqual(tables.listPurse(), read.list)) return true
  if (budget !== read.budget) return true
  return budget !== null && (spent + uncertain !== read.had_spent || reserved !== read.had_reserved)
}

function insertCalls(
  tables: Tables,
  { grants, account_id: account, worker }: Reservation,
  { seq, usedTotal }: Account,
): ReadonlyMap<number, number> {
  const { shelf } = tables
  const granted = new Map<number, number>()
  for (const { task, query, mark, place, class: name, bound } of grants) {
    const id = shelf.nextCall
    shelf.nextCall += 1
    shelf.calls.set(id, {
      ...{ id, mark, query, account, worker, task, sentAt: tables.now, seq: seq + place, bound },
      ...{ startTotal: usedTotal, class: name, outcome: null, unknownAt: 0, washed: false },
      ...{ used: 0, remaining: null, event: tables.event },
    })
    shelf.flying.add(id)
    granted.set(task, id)
  }
  return granted
}

function stateFrom(state: Reservation['state']): Partial<Account> {
  return {
    drainedFloor: state.drained_floor,
    blindCalls: state.blind_calls,
    probeGranted: state.probe_granted,
    lastProbeAt: state.last_probe_at_ms,
    rateNextAt: state.rate_next_at_ms,
    day: state.day,
    daySpent: state.day_spent,
    month: state.month,
    monthSpent: state.month_spent,
  }
}

function giveUpTasks(
  tables: Tables,
  { spent_runs: runs, reused, given_up: looked, account_id: account }: Reservation,
): void {
  const kept = new Set(reused.map(({ task }) => task))
  for (const { id, run, query, state } of tables.shelf.tasks.values()) {
    if (!runs.includes(run) || state !== 'open' || kept.has(id)) continue
    if (tables.inFlight(({ task }) => task === id)) continue
    if (!looked.includes(id) && mayCome(tables, { id, run, query, account })) continue
    end(tables, id, { state: 'unaffordable' })
  }
}

/** True if an answer for a task exists, is being bought for another task, or was lost a moment ago. */
function mayCome(
  tables: Tables,
  { id, run, query, account }: { id: number; run: number; query: string; account: number },
): boolean {
  for (const call of tables.shelf.calls.values()) {
    if (call.task === id && call.unknownAt > tables.now - 120_000) return true
  }
  const { maxAgeMs } = tables.run(run)
  if (maxAgeMs === 0) return false
  if (tables.freshAnswer(query, maxAgeMs) !== null) return true
  return tables.inFlight((call) => call.account === account && call.query === query)
}

function end(tables: Tables, id: number, more: Partial<TaskRow>): void {
  const task = tables.shelf.tasks.get(id)
  if (task?.state !== 'open') return
  tables.shelf.version += 1
  tables.shelf.tasks.set(id, { ...task, ...more, version: tables.shelf.version })
}
