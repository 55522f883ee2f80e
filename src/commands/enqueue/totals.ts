import type { Planned } from '../../store/planning/order.ts'
import type { Funds } from '../../store/planning/prices.ts'
import { addEstimates, foreseeBalance, type Balance, type Estimate } from './estimate.ts'

/** What the lists of an enqueue come to together. */
export interface Totals {
  readonly rows: number
  readonly accepted: number
  readonly duplicates: number
  readonly rejected: number
  readonly tasks: number
  readonly queued: number
  readonly reused: number
  readonly unreadable: number
  readonly already: number
  readonly estimate: Estimate
  readonly balance: Balance
}

/** What credits there are, and how many of them must stay or may be used. */
export interface Means {
  /** What is open already will cost. */
  readonly open: Estimate
  readonly funds: Funds
  readonly floor: number
  readonly budget: number | null
}

type PlannedList = Planned & { readonly estimate: Estimate }

/** Adds up what the lists come to, and what that leaves of the credits. */
export function addUp(
  lists: readonly PlannedList[],
  { open, funds, floor, budget }: Means,
): Totals {
  const sum = sumOf(lists)
  const estimate = addEstimates(lists.map((list) => list.estimate))
  return {
    rows: sum(({ rows }) => rows),
    accepted: sum(({ accepted }) => accepted),
    duplicates: sum(({ duplicates }) => duplicates),
    rejected: sum(({ rejected }) => rejected),
    tasks: sum(({ tasks }) => tasks),
    queued: sum(({ queued }) => queued),
    reused: sum(({ reused }) => reused),
    unreadable: sum(({ unreadable }) => unreadable),
    already: sum(({ already }) => already),
    estimate,
    balance: foreseeBalance(estimate, {
      remaining: funds.remaining,
      floor: Math.max(floor, funds.floor ?? 0),
      budget,
      open,
      before: spentBefore(lists, funds),
    }),
  }
}

/** What the runs have used of their budgets, with what their open tasks may cost; null while a price is unknown. */
function spentBefore(lists: readonly PlannedList[], { costs }: Funds): number | null {
  const sum = sumOf(lists)
  const open = sum(({ before }) => before.open)
  const spent = sum(({ before }) => before.spent)
  if (open === 0) return spent
  if (costs.length === 0) return null
  return spent + open * Math.max(...costs.map(({ dearest }) => dearest))
}

function sumOf(lists: readonly PlannedList[]) {
  return (read: (list: PlannedList) => number): number =>
    lists.reduce((total, list) => total + read(list), 0)
}
