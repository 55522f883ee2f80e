import type { Database } from '../store/database.ts'
import { readBooks, type Books } from '../store/ledger/books.ts'
import { readWaiting, saveReservation, type WaitingTask } from '../store/ledger/reservation.ts'
import { setBack } from '../store/trouble.ts'
import { admit } from './admit.ts'
import type { CallName } from './entry.ts'
import type { RunPurse, Rest, Rules } from './admission.ts'
import { reservationOf, type Decision, type Spender } from './decision.ts'
import { accountOf, costsOf } from './rows.ts'
import { addUrgency, sortTasks, type Wanted } from './triage.ts'

/** What one reservation brought. */
export interface Reserved {
  /** Calls to make at once: which call serves which task. */
  readonly granted: ReadonlyMap<number, CallName>
  /** Tasks that need no call any more: answered, reused, cancelled or unaffordable. */
  readonly gone: readonly number[]
  /** Tasks reused just now. */
  readonly reused: number
  /** Tasks that are not due, or whose query is being asked right now. */
  readonly later: readonly number[]
  readonly rest: Rest | { readonly kind: 'no_lease' }
  /** Null: it could not be found out. */
  readonly affordable: number | null
}

/** Near the floor every change of the books makes a decision void; so many in a row are waited out. */
const mostTries = 12
const contendedMs = 20

/**
 * Reserves what is about to be sent. It is decided without a lock on what the tables say, and written by one statement
 * only if that still stands; otherwise it is decided anew.
 */
export async function reserve(
  db: Database,
  spender: Spender,
  wanted: readonly Wanted[],
): Promise<Reserved> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const [books, { lease_live: leaseLive, tasks }] = await Promise.all([
      readBooks(db, spender.account),
      readWaiting(db, { ...spender, tasks: wanted.map(({ task }) => task) }),
    ])
    expectForward(spender, books)
    if (!leaseLive) return nothing({ kind: 'no_lease' })
    const reserved = await reserveTasks(db, spender, { wanted, books, tasks })
    if (reserved !== null) return reserved
  }
  return nothing({ kind: 'wait', ms: contendedMs })
}

/** Whoever lives on while the database is set back notices it before anything is bought by the old books. */
function expectForward({ begun }: Spender, { account }: Books): void {
  if (account.seq < begun.seq) {
    throw setBack(`${account.seq} calls had begun, and ${begun.seq} a moment ago`)
  }
  begun.seq = account.seq
}

interface Reading {
  readonly wanted: readonly Wanted[]
  readonly books: Books
  readonly tasks: readonly WaitingTask[]
}

async function reserveTasks(
  db: Database,
  spender: Spender,
  { wanted, books, tasks }: Reading,
): Promise<Reserved | null> {
  const found = new Map(tasks.map((task) => [task.id, task]))
  const sorted = sortTasks(wanted, found)
  const costs = costsOf(books)
  const rules = rulesOf(spender, books)
  const asks = await addUrgency(db, sorted.ready, { costs, books, rules })
  const purses = new Map(tasks.map((task) => [task.run_id, purseOf(task)]))
  const admission = admit(accountOf(books.account), costs, { asks, purses, rules })
  const granted = await write(db, spender, { books, costs, admission, found, sorted, rules })
  if (granted === null) return null
  const spent = new Set(admission.spentRuns)
  const unaffordable = [...found.values()].filter(({ run_id }) => spent.has(run_id))
  return {
    granted,
    gone: [...sorted.gone, ...unaffordable.map(({ id }) => id).filter((id) => !granted.has(id))],
    reused: sorted.reused.length,
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

/** Gives back which call serves which task; null when what the decision rests on has changed. */
async function write(
  db: Database,
  spender: Spender,
  decision: Decision,
): Promise<ReadonlyMap<number, CallName> | null> {
  const reservation = reservationOf(spender, decision)
  if (reservation === null) return new Map()
  const marks = new Map(reservation.grants.map(({ task, mark }) => [task, mark]))
  const calls = await holding(spender.marks, marks, () => saveReservation(db, reservation))
  if (calls === null) return null
  return new Map([...calls].map(([task, id]) => [task, { id, mark: marks.get(task) ?? null }]))
}

/** Holds the marks while their calls are asked for; afterwards those that were granted. */
async function holding(
  held: Set<string>,
  marks: ReadonlyMap<number, string>,
  ask: () => Promise<ReadonlyMap<number, number> | null>,
): Promise<ReadonlyMap<number, number> | null> {
  for (const mark of marks.values()) held.add(mark)
  let granted: ReadonlyMap<number, number> | null = null
  try {
    granted = await ask()
    return granted
  } finally {
    for (const [task, mark] of marks) if (granted?.has(task) !== true) held.delete(mark)
  }
}

function nothing(rest: Reserved['rest']): Reserved {
  return { granted: new Map(), gone: [], reused: 0, later: [], rest, affordable: null }
}
