import { countMoreUrgent, type WaitingTask } from '../store/ledger/reservation.ts'
import type { Books } from '../store/ledger/books.ts'
import type { Database } from '../store/database.ts'
import { lowestBalance } from './account.ts'
import { boundOf, type Costs } from './prices.ts'
import type { Ask, Rules } from './admission.ts'
import { accountOf } from './rows.ts'

/** A task that a worker has in hand. */
export interface Wanted {
  readonly task: number
  readonly class: string
  readonly priority: number
}

/** A task that may be bought now. */
export interface Ready extends Wanted {
  readonly run: number
}

/** Tasks by what becomes of them at the gate. */
export interface Sorted {
  readonly ready: readonly Ready[]
  readonly gone: number[]
  readonly later: number[]
  readonly reused: { task: number; search: number }[]
}

/** Work that is delivered twice ends here: the tables say what is still to be bought. */
export function sortTasks(
  wanted: readonly Wanted[],
  found: ReadonlyMap<number, WaitingTask>,
): Sorted {
  const ready: Ready[] = []
  const sorted: Sorted = { ready, gone: [], later: [], reused: [] }
  const asked = new Set<string>()
  for (const want of wanted) {
    const task = found.get(want.task)
    if (task === undefined || task.state !== 'open' || !task.run_open) sorted.gone.push(want.task)
    else if (task.busy || !task.due || asked.has(task.query_id)) sorted.later.push(want.task)
    else if (task.fresh !== null) {
      sorted.reused.push({ task: want.task, search: task.fresh })
      sorted.gone.push(want.task)
    } else {
      asked.add(task.query_id)
      ready.push({ ...want, run: task.run_id })
    }
  }
  ready.sort((a, b) => a.priority - b.priority)
  return sorted
}

/** Credit is scarce when fewer calls than this fit above the floor: then urgency is looked at. */
const scarce = 1_000

/** Tells each ask how many more urgent tasks lie elsewhere, when credit is scarce. */
export async function addUrgency(
  db: Database,
  ready: readonly Ready[],
  { costs, books, rules }: { costs: Costs; books: Books; rules: Rules },
): Promise<Ask[]> {
  const low = lowestBalance(accountOf(books.account))
  const counts = new Map<number, number>()
  const asks: Ask[] = []
  for (const { task, class: name, run, priority } of ready) {
    const room = (low ?? 0) - rules.floor
    const tight = rules.counts && low !== null && room < scarce * boundOf(costs, name).alone
    if (tight && priority > 1 && !counts.has(priority)) {
      const except = ready.map((other) => other.task)
      counts.set(priority, await countMoreUrgent(db, { priority, except, limit: scarce }))
    }
    asks.push({ task, class: name, run, urgentElsewhere: counts.get(priority) ?? 0 })
  }
  return asks
}
