import type { Books } from '../store/ledger/books.ts'
import type { Database } from '../store/database.ts'
import { readForReserve, saveReservation, type WaitingTask } from '../store/ledger/reservation.ts'
import { travel, type Trip } from '../store/pipelining.ts'
import type { Costs } from './account.ts'
import { admit } from './admit.ts'
import type { Admission, RunPurse, Rest, Rules } from './admission.ts'
import { accountOf, changedCosts, costsOf, rowOf } from './rows.ts'
import { addUrgency, sortTasks, type Wanted } from './triage.ts'

/** Who reserves, from which account, under which rules. */
export interface Spender {
  readonly account: number
  readonly worker: number
  readonly origin: 'live' | 'test' | 'sandbox'
  readonly api: string
  readonly key: string
  readonly floor: number
  readonly dailyBudget: number | null
  readonly rateLimit: number | null
  /** The day of an instant and the end of that day, in the zone of the settings. */
  readonly dayOf: (time: number) => { day: string; ends: number }
  readonly renewalAfter: (time: number) => number | null
}

/** What one reservation brought. */
export interface Reserved {
  /** Calls to make at once: which call serves which task. */
  readonly granted: ReadonlyMap<number, number>
  /** Tasks that need no call any more: answered, reused, cancelled or unaffordable. */
  readonly gone: readonly number[]
  /** Tasks reused just now. */
  readonly reused: number
  /** Tasks that are not due, or whose query is being asked right now. */
  readonly later: readonly number[]
  readonly rest: Rest | { readonly kind: 'no_lease' }
  readonly affordable: number
}

/** Reserves what is about to be sent: one transaction that the account's row serialises over all workers. */
export async function reserve(
  db: Database,
  spender: Spender,
  wanted: readonly Wanted[],
): Promise<Reserved> {
  return travel(db, async (trip) => {
    const read = await readForReserve(trip, {
      account: spender.account,
      worker: spender.worker,
      origin: spender.origin,
      api: spender.api,
      tasks: wanted.map(({ task }) => task),
    })
    if (!read.leaseLive) return nothing({ kind: 'no_lease' })
    return reserveTasks(trip, spender, { wanted, ...read })
  })
}

interface Reading {
  readonly wanted: readonly Wanted[]
  readonly books: Books
  readonly tasks: readonly WaitingTask[]
}

async function reserveTasks(
  trip: Trip,
  spender: Spender,
  { wanted, books, tasks }: Reading,
): Promise<Reserved> {
  const found = new Map(tasks.map((task) => [task.id, task]))
  const sorted = sortTasks(wanted, found)
  const costs = costsOf(books)
  const rules = rulesOf(spender, books)
  const asks = await addUrgency(trip, sorted.ready, { costs, books, rules })
  const purses = new Map(tasks.map((task) => [task.run_id, purseOf(task)]))
  const admission = admit(accountOf(books.account), costs, { asks, purses, rules })
  const { reused } = sorted
  const granted = await write(trip, spender, { books, costs, admission, found, reused })
  const spent = new Set(admission.spentRuns)
  const unaffordable = [...found.values()].filter(({ run_id }) => spent.has(run_id))
  return {
    granted,
    gone: [...sorted.gone, ...unaffordable.map(({ id }) => id).filter((id) => !granted.has(id))],
    reused: reused.length,
    later: sorted.later,
    rest: admission.rest,
    affordable: admission.affordable,
  }
}

function rulesOf(spender: Spender, books: Books): Rules {
  const now = books.now_ms
  const { day, ends } = spender.dayOf(now)
  return {
    now,
    floor: Math.max(spender.floor, books.floor),
    counts: spender.origin !== 'test',
    key: spender.key,
    dailyBudget: spender.dailyBudget,
    day,
    dayEnds: ends,
    rateLimit: spender.rateLimit,
    renewalAfter: spender.renewalAfter,
  }
}

function purseOf({ budget, spent, reserved }: WaitingTask): RunPurse {
  return { budget, spent, reserved }
}

interface Writing {
  readonly books: Books
  /** Prices before the admission. */
  readonly costs: Costs
  readonly admission: Admission
  readonly found: ReadonlyMap<number, WaitingTask>
  readonly reused: readonly { task: number; search: number }[]
}

async function write(
  trip: Trip,
  spender: Spender,
  { books, costs, admission, found, reused }: Writing,
): Promise<ReadonlyMap<number, number>> {
  const { grants, rest, account, spentRuns } = admission
  const stop =
    rest.kind === 'stop' && (rest.reason === 'credit_floor' || rest.reason === 'budget')
      ? [{ reason: rest.reason, until_ms: rest.until, detail: rest.detail }]
      : []
  const standing = books.stops.map(({ reason }) => reason)
  const flows = grants.some(({ probe }) => !probe)
  const cleared = standing
    .filter((reason) => flows && reason !== 'auth')
    .map((reason) => ({ reason, by: reason === 'credit_floor' ? 'observation' : 'time' }))
  const news = stop.some(({ reason }) => !standing.includes(reason))
  const decided = grants.length > 0 || news || cleared.length > 0
  if (!decided && reused.length === 0 && spentRuns.length === 0) return new Map()
  const held = new Map<number, number>()
  for (const { run, bound } of grants) held.set(run, (held.get(run) ?? 0) + bound)
  return saveReservation(trip, {
    account_id: spender.account,
    account: rowOf(account),
    stops: stop,
    cleared,
    worker: spender.worker,
    sent_at_ms: books.now_ms,
    grants: grants.map(({ task, class: name, bound, seq, startTotal, probe }) => ({
      task,
      query: found.get(task)?.query_id ?? '',
      class: name,
      bound,
      seq,
      start_total: startTotal,
      probe,
    })),
    runs: [...held].map(([run, bound]) => ({ run, spent: 0, reserved: bound })),
    costs: changedCosts(costs, admission.costs),
    reused,
    spent_runs: spentRuns,
  })
}

function nothing(rest: Reserved['rest']): Reserved {
  return { granted: new Map(), gone: [], reused: 0, later: [], rest, affordable: 1 }
}
