// Reserves calls: reads the ledger, decides and writes, and starts over if another process has changed the ledger.

import { randomUUID } from 'node:crypto'
import { type Database, travel } from '../../base/database/database.ts'
import { statement } from '../../base/database/sql-file.ts'
import { setBack } from '../../base/database/trouble.ts'
import { type Account, constants } from './account.ts'
import {
  admit,
  countUrgent,
  type Deferral,
  type Rules,
  scarcePriorities,
  sortTasks,
  type RequestedTask,
} from './admission.ts'
import { type Books, readBooks, takeRuns } from './books.ts'
import type { CallName, SettlementRules } from './settle.ts'
import { readWaiting, type WaitingTask } from './waiting.ts'

/** Number of failed attempts before a pause. Near the floor, any change in the ledger invalidates a decision. */
const mostTries = 12
const contendedMs = 20

/** Reads and decides without locks, and writes with one statement. Starts over if anything has changed. */
export async function reserve(
  db: Database,
  spender: Spender,
  requested: readonly RequestedTask[],
): Promise<Reserved> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const [books, { lease_live: leaseLive, tasks }] = await Promise.all([
      readBooks(db, spender.account),
      readWaiting(db, { ...spender, tasks: requested.map(({ task }) => task) }),
    ])
    expectForward(spender, books)
    if (!leaseLive) return nothing({ kind: 'no_lease' })
    const inputs = prepareAdmission(spender, { requested, books, tasks })
    const { ready } = inputs.sorted
    const decision = decideAdmission(
      inputs,
      await countUrgent(db, ready, scarcePriorities(ready, inputs)),
    )
    const granted = await write(db, spender, decision)
    if (granted !== null) return reservedBy(decision, granted)
  }
  return nothing({ kind: 'wait', ms: contendedMs })
}

/** Returns each task's call, or null if the rows used for the decision have changed. */
async function write(
  db: Database,
  spender: Spender,
  decision: DecidedAdmission,
): Promise<ReadonlyMap<number, CallName> | null> {
  const reservation = reservationOf(spender, decision)
  if (reservation === null) return new Map()
  const marks = new Map(reservation.grants.map(({ task, mark }) => [task, mark]))
  try {
    const calls = await saveReservation(db, reservation)
    if (calls === null) return null
    return new Map([...calls].map(([task, id]) => [task, { id, mark: marks.get(task) ?? null }]))
  } catch (error) {
    giveUp(spender.givenUp, marks.values())
    throw error
  }
}

function nothing(deferral: Reserved['deferral']): Reserved {
  return { granted: new Map(), gone: [], reused: 0, later: [], deferral, affordable: null }
}

export interface Reserved {
  readonly granted: ReadonlyMap<number, CallName>
  /** Tasks that no longer need a call: answered, reused, cancelled or unaffordable. */
  readonly gone: readonly number[]
  readonly reused: number
  /** Tasks that are not due yet or must wait for a call for the same query. */
  readonly later: readonly number[]
  readonly deferral: Deferral | { readonly kind: 'no_lease' }
  /** Number of calls that the balance allows, or null if unknown. */
  readonly affordable: number | null
}

/** Throws if the database was restored while this worker was running, so that no purchase is based on old balances. */
export function expectForward({ begun }: Pick<Spender, 'begun'>, { account }: Books): void {
  if (account.seq < begun.seq) {
    throw setBack(
      `the number of started calls in the ledger fell from ${begun.seq} to ${account.seq}`,
    )
  }
  begun.seq = account.seq
}

/** Determines from the rows which tasks may be bought and which rules apply. */
export function prepareAdmission(
  spender: Spender,
  {
    requested,
    books,
    tasks,
  }: { requested: readonly RequestedTask[]; books: Books; tasks: readonly WaitingTask[] },
) {
  const found = new Map(tasks.map((task) => [task.id, task]))
  const budgets = new Map(tasks.map((task) => [task.run_id, task]))
  const sorted = sortTasks(requested, found)
  return { books, found, budgets, sorted, rules: rulesOf(spender, books) }
}

/** Decides which calls may be sent. `urgent` maps each priority to the number of more urgent tasks elsewhere. */
export function decideAdmission(
  inputs: ReturnType<typeof prepareAdmission>,
  urgent: ReadonlyMap<number, number>,
) {
  const { books, budgets, sorted, rules } = inputs
  const requests = sorted.ready.map((task) => {
    return { urgentElsewhere: urgent.get(task.priority) ?? 0, ...task }
  })
  const admission = admit(books.account, books.costs, { requests, budgets, rules })
  return { ...inputs, admission }
}

export function reservedBy(
  { admission, sorted }: DecidedAdmission,
  granted: ReadonlyMap<number, CallName>,
): Reserved {
  return {
    granted,
    gone: [...sorted.gone, ...unaffordable({ admission, sorted })],
    reused: sorted.reused.length,
    later: sorted.later,
    deferral: admission.deferral,
    affordable: admission.affordable,
  }
}

function rulesOf(spender: Spender, books: Books): Rules {
  const now = books.now_ms
  const { day, ends: dayEnds } = spender.dayOf(now)
  const { month, ends: monthEnds } = spender.monthOf(now)
  return {
    ...spender,
    ...{ now, day, dayEnds, month, monthEnds },
    floor: Math.max(spender.floor, books.floor),
    counts: spender.origin !== 'test',
  }
}

export interface Spender
  extends
    SettlementRules,
    Pick<Rules, 'dailyBudget' | 'monthlyBudget' | 'rateLimit' | 'mostInFlight' | 'renewalAfter'> {
  readonly worker: number
  readonly origin: 'live' | 'test' | 'sandbox'
  readonly api: string
  readonly dayOf: (time: number) => { day: string; ends: number }
  readonly monthOf: (time: number) => { month: string; ends: number }
  /** Marks of calls without a confirmed reservation, which are never sent even if the reservation was written. */
  readonly givenUp: Set<string>
  /** Last known number of calls that the account has started. The number never decreases. */
  readonly begun: { seq: number }
}

type DecidedAdmission = ReturnType<typeof decideAdmission>

/** A reservation, with the rows to write and the row versions on which the decision is based. */
export type Reservation = NonNullable<ReturnType<typeof reservationOf>>

export function reservationOf(spender: Spender, decision: DecidedAdmission) {
  const { admission, books, sorted } = decision
  const stops = stopsIn(decision)
  const cleared = liftedStops(decision)
  const decided =
    admission.grants.length > 0 ||
    stops.some(({ reason }) => !books.stops.includes(reason)) ||
    cleared.length > 0
  if (!decided && sorted.reused.length === 0 && admission.spentRuns.length === 0) return null
  return {
    account_id: spender.account,
    worker: spender.worker,
    origin: spender.origin,
    api: spender.api,
    key: spender.key,
    floor: spender.floor,
    /** False for a test account, because it has no floor. */
    counts: decision.rules.counts,
    most_in_flight: decision.rules.mostInFlight,
    /** Expected external spend per call in flight, in credits. */
    external: admission.external,
    version: books.version,
    /** True if other workers cannot invalidate the decision as long as the balance suffices. */
    steady: stops.length === 0 && cleared.length === 0 && isSteady(decision),
    state: stateOf(admission.account),
    stops,
    cleared,
    ...basisOf(decision),
    grants: grantsOf(decision),
    trying: classesTried(decision),
    reused: sorted.reused,
    given_up: unaffordable(decision),
    spent_runs: admission.spentRuns,
    spent_by_list: admission.spentByList,
  }
}

/** Returns the tasks that end without an answer because their runs have no budget left for a call. */
function unaffordable({
  admission,
  sorted,
}: Pick<DecidedAdmission, 'admission' | 'sorted'>): readonly number[] {
  const spent = new Set(admission.spentRuns)
  const granted = new Set(admission.grants.map(({ task }) => task))
  const left = sorted.ready.filter(({ task, run }) => spent.has(run) && !granted.has(task))
  return left.map(({ task }) => task)
}

const mostGivenUp = 10_000

/** Remembers calls whose reservations were not confirmed but may still be written. Drops the oldest marks. */
export function giveUp(givenUp: Set<string>, marks: Iterable<string>): void {
  for (const mark of marks) givenUp.add(mark)
  for (const oldest of givenUp) {
    if (givenUp.size <= mostGivenUp) break
    givenUp.delete(oldest)
  }
}

function grantsOf({ admission, found }: DecidedAdmission) {
  return admission.grants.map(({ task, class: name, bound, probe }, index) => ({
    task,
    query: found.get(task)?.query_id ?? '',
    mark: randomUUID(),
    place: index + 1,
    max_age_ms: found.get(task)?.max_age_ms ?? 0,
    class: name,
    bound,
    probe,
  }))
}

/** Returns the price classes with no known cost. On an account with a floor, each class starts with a single call. */
function classesTried({ admission, books, rules }: DecidedAdmission): readonly string[] {
  if (!rules.counts) return []
  const names = new Set(admission.grants.map(({ class: name }) => name))
  return [...names].filter((name) => (books.costs.get(name)?.seen ?? 0) === 0)
}

function stopsIn({ admission: { deferral } }: DecidedAdmission) {
  if (deferral.kind !== 'stop') return []
  const { reason, until, detail } = deferral
  return reason === 'auth' || reason === 'rate' ? [] : [{ reason, until_ms: until, detail }]
}

function liftedStops({ admission, books }: DecidedAdmission) {
  if (!admission.grants.some(({ probe }) => !probe)) return []
  return books.stops
    .filter((reason) => reason !== 'auth')
    .map((reason) => ({ reason, by: reason === 'credit_floor' ? 'observation' : 'time' }))
}

/** Returns the tasks and runs as they were read. The reservation is written only if these rows are unchanged. */
function basisOf({ admission, found, budgets, sorted }: DecidedAdmission) {
  const reserved = new Map<number, number>()
  for (const { run, bound } of admission.grants) {
    reserved.set(run, (reserved.get(run) ?? 0) + bound)
  }
  for (const run of admission.spentRuns) reserved.set(run, reserved.get(run) ?? 0)
  const reused = new Set(sorted.reused.map(({ task }) => task))
  const granted = admission.grants.map(({ task }) => task)
  const touched = new Set([...reused, ...granted, ...unaffordable({ admission, sorted })])
  const tasks = [...found.values()].filter(({ id }) => touched.has(id))
  return {
    tasks: tasks.map(({ id, version }) => ({ id, version, reused: reused.has(id) })),
    runs: [...reserved].map(([run, bound]) => ({
      run,
      budget: budgets.get(run)?.budget ?? null,
      had_spent: budgets.get(run)?.spent ?? 0,
      had_reserved: budgets.get(run)?.reserved ?? 0,
      reserved: bound,
      list: budgets.get(run)?.list ?? null,
    })),
  }
}

/** True if nothing is refused or scarce, so that no other purchase or settlement affects the decision. */
function isSteady({ admission, books, rules }: DecidedAdmission): boolean {
  const { grants, deferral, spentRuns } = admission
  const { account, costs } = books
  return (
    deferral.kind === 'none' &&
    spentRuns.length === 0 &&
    rules.dailyBudget === null &&
    rules.monthlyBudget === null &&
    rules.rateLimit === null &&
    account.drainedFloor === null &&
    account.day === rules.day &&
    account.month === rules.month &&
    grants.every(
      ({ class: name, probe }) =>
        !probe && (!rules.counts || (costs.get(name)?.seen ?? 0) >= constants.trustedAfter),
    )
  )
}

/** Returns new values for the account, except its totals. Changes made in the meantime are not overwritten. */
function stateOf(account: Account) {
  return {
    drained_floor: account.drainedFloor,
    blind_calls: account.blindCalls,
    probe_granted: account.probeGranted,
    last_probe_at_ms: account.lastProbeAt,
    rate_next_at_ms: account.rateNextAt,
    day: account.day,
    day_spent: account.daySpent,
    month: account.month,
    month_spent: account.monthSpent,
  }
}

export function reserving(reservation: Reservation) {
  return statement<{ written: boolean; calls: string[]; tasks: string[] }>('reserve_calls', {
    reservation: JSON.stringify(reservation),
    trusted_after: constants.trustedAfter,
    most_given_up: 2000,
    lost_ms: 120_000,
  })
}

/** Writes a reservation and commits. Returns each task's call, or null if a new decision is needed. */
export async function saveReservation(
  db: Database,
  reservation: Reservation,
): Promise<ReadonlyMap<number, number> | null> {
  const [row] = await travel(db, async (trip) => {
    const runs = reservation.runs.map(({ run }) => run)
    // If several accounts request the same query, one account buys it, and the others reuse the answer.
    void trip.run(statement('lock_accounts', { account: reservation.account_id }))
    takeRuns(trip, runs)
    // Other runs may be using the same list budgets.
    void trip.run(statement('lock_lists', { runs }))
    return trip.end(reserving(reservation))
  })
  if (row === undefined || !row.written) return null
  // The driver returns numbers in an array as strings.
  return new Map(row.tasks.map((task, index) => [Number(task), Number(row.calls[index])]))
}
