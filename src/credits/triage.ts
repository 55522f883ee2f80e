import { countMoreUrgent, type WaitingTask } from '../store/ledger/waiting.ts'
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

/** Of these tasks, the priorities for which more urgent tasks elsewhere have to be counted: credit is scarce for them. */
export function scarcePriorities(
  ready: readonly Ready[],
  { costs, books, rules }: { costs: Costs; books: Books; rules: Rules },
): readonly number[] {
  const low = lowestBalance(accountOf(books.account))
  if (!rules.counts || low === null) return []
  const tight = ready.filter(({ class: name, priority }) => {
    return priority > 1 && low - rules.floor < scarce * boundOf(costs, name).alone
  })
  return [...new Set(tight.map(({ priority }) => priority))]
}

/** Counts the more urgent tasks elsewhere, for each of these priorities. */
export async function countUrgent(
  db: Database,
  ready: readonly Ready[],
  priorities: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const except = ready.map(({ task }) => task)
  const counts = new Map<number, number>()
  for (const priority of priorities) {
    counts.set(priority, await countMoreUrgent(db, { priority, except, limit: scarce }))
  }
  return counts
}

/** Tells each ask how many more urgent tasks lie elsewhere. */
export function asksOf(ready: readonly Ready[], urgent: ReadonlyMap<number, number>): Ask[] {
  return ready.map(({ task, class: name, run, priority }) => ({
    task,
    class: name,
    run,
    urgentElsewhere: urgent.get(priority) ?? 0,
  }))
}
