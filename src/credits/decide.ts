import type { Books } from '../store/ledger/books.ts'
import type { WaitingTask } from '../store/ledger/waiting.ts'
import { setBack } from '../store/trouble.ts'
import { admit } from './admit.ts'
import type { Rest, RunPurse, Rules } from './admission.ts'
import { unaffordable, type Decision, type Spender } from './decision.ts'
import type { CallName } from './entry.ts'
import { accountOf, costsOf } from './rows.ts'
import { asksOf, sortTasks, type Wanted } from './triage.ts'

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

/** What the tables said to one visit at the gate. */
interface Reading {
  readonly wanted: readonly Wanted[]
  readonly books: Books
  readonly tasks: readonly WaitingTask[]
}

/** Everything that is decided on, before it is. */
type Look = Omit<Decision, 'admission'>

/** Whoever lives on while the database is set back notices it before anything is bought by the old books. */
export function expectForward({ begun }: Pick<Spender, 'begun'>, { account }: Books): void {
  if (account.seq < begun.seq) {
    throw setBack(`${account.seq} calls had begun, and ${begun.seq} a moment ago`)
  }
  begun.seq = account.seq
}

/** Sorts what was read into what may be bought, and by which rules. */
export function lookAt(spender: Spender, { wanted, books, tasks }: Reading): Look {
  const found = new Map(tasks.map((task) => [task.id, task]))
  const sorted = sortTasks(wanted, found)
  return { books, costs: costsOf(books), found, sorted, rules: rulesOf(spender, books) }
}

/** Decides which calls may go out; `urgent` counts more urgent tasks elsewhere, by priority. */
export function decideOn(look: Look, urgent: ReadonlyMap<number, number>): Decision {
  const { books, costs, found, sorted, rules } = look
  const asks = asksOf(sorted.ready, urgent)
  const purses = new Map([...found.values()].map((task) => [task.run_id, purseOf(task)]))
  return { ...look, admission: admit(accountOf(books.account), costs, { asks, purses, rules }) }
}

/** What a decision brings once it is written. */
export function broughtBy(
  { admission, sorted }: Decision,
  granted: ReadonlyMap<number, CallName>,
): Reserved {
  return {
    granted,
    gone: [...sorted.gone, ...unaffordable({ admission, sorted })],
    reused: sorted.reused.length,
    later: sorted.later,
    rest: admission.rest,
    affordable: admission.affordable,
  }
}

function rulesOf(spender: Spender, books: Books): Rules {
  const now = books.now_ms
  const { day, ends } = spender.dayOf(now)
  const { month, ends: monthEnds } = spender.monthOf(now)
  return {
    now,
    floor: Math.max(spender.floor, books.floor),
    counts: spender.origin !== 'test',
    key: spender.key,
    dailyBudget: spender.dailyBudget,
    day,
    dayEnds: ends,
    monthlyBudget: spender.monthlyBudget,
    month,
    monthEnds,
    rateLimit: spender.rateLimit,
    mostInFlight: spender.mostInFlight,
    renewalAfter: spender.renewalAfter,
  }
}

function purseOf({ budget, spent, reserved, list }: WaitingTask): RunPurse {
  return { budget, spent, reserved, list }
}
