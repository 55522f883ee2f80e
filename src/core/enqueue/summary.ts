// Adds up the counts of all lists, and estimates their cost.

import type { Funds } from '../ledger/prices.ts'
import type { Planned } from './plan.ts'

/** Counts that are summed over all lists. */
export const countNames = [
  'rows',
  'accepted',
  'duplicates',
  'rejected',
  'tasks',
  'queued',
  'reused',
  'unreadable',
  'already',
] as const
type Counts = Pick<Planned, (typeof countNames)[number]>

export type Totals = ReturnType<typeof addUp>

interface Limits {
  readonly floor: number
  readonly budget: number | null
}

/** `open` is the cost of tasks that are already open. */
export function addUp(
  lists: readonly (Planned & { readonly estimate: Estimate })[],
  { open, funds, ...limits }: { open: Estimate; funds: Funds } & Limits,
) {
  const counts = countNames.map((name) => [name, sumOf(lists, (list) => list[name])])
  const estimate = addEstimates(lists.map((list) => list.estimate))
  return {
    ...(Object.fromEntries(counts) as Counts),
    estimate,
    balance: forecastBalance(estimate, {
      remaining: funds.remaining,
      floor: Math.max(limits.floor, funds.floor ?? 0),
      budget: limits.budget,
      open,
      before: spentBefore(lists, funds),
    }),
  }
}

/** Returns the credits that the runs have used or may still use for their open tasks; null if no price is known. */
function spentBefore(lists: readonly Planned[], { costs }: Funds): number | null {
  const open = sumOf(lists, ({ before }) => before.open)
  const spent = sumOf(lists, ({ before }) => before.spent)
  if (open === 0) return spent
  if (costs.length === 0) return null
  return spent + open * Math.max(...costs.map(({ dearest }) => dearest))
}

function sumOf<T>(all: readonly T[], read: (one: T) => number): number {
  return all.reduce((total, one) => total + read(one), 0)
}

/** Cost of a purchase. A value is null if the cost is unknown. */
export interface Estimate {
  readonly credits: number | null
  readonly worst: number | null
  readonly basis: 'seen' | 'unknown' | 'nothing to buy'
}

const nothing: Estimate = { credits: 0, worst: 0, basis: 'nothing to buy' }
const unknown: Estimate = { credits: null, worst: null, basis: 'unknown' }

/** Uses the average of recent calls in the same class and, for the worst case, the most expensive call. */
export function estimateCost<P extends { readonly tasks: number }>(
  toBuy: readonly P[],
  prices: Funds['costs'],
  classOf: (purchase: P) => string,
): Estimate {
  const wanted = toBuy.filter(({ tasks }) => tasks > 0)
  if (wanted.length === 0) return nothing
  const known = new Map(prices.map((price) => [price.class, price]))
  let credits = 0
  let worst = 0
  for (const purchase of wanted) {
    const price = known.get(classOf(purchase))
    if (price === undefined) return unknown
    credits += purchase.tasks * (price.average ?? price.dearest)
    worst += purchase.tasks * price.dearest
  }
  return { credits: Math.ceil(credits), worst: Math.max(worst, Math.ceil(credits)), basis: 'seen' }
}

/** The sum is unknown if any estimate is unknown. */
export function addEstimates(estimates: readonly Estimate[]): Estimate {
  const bought = estimates.filter(({ basis }) => basis !== 'nothing to buy')
  if (bought.length === 0) return nothing
  if (bought.some(({ basis }) => basis === 'unknown')) return unknown
  return {
    credits: sumOf(bought, ({ credits }) => credits ?? 0),
    worst: sumOf(bought, ({ worst }) => worst ?? 0),
    basis: 'seen',
  }
}

/**
 * Computes the balance after a purchase; null means unknown. `before` is the number of credits that the runs have used, or
 * may still use for their open tasks.
 */
export function forecastBalance(
  { credits, worst }: Estimate,
  now: Limits & { remaining: number | null; open?: Estimate; before?: number | null },
) {
  const { remaining, floor, budget, open = nothing, before = 0 } = now
  // Open tasks are paid for from the same balance.
  const afterWorst = minus(remaining, open.worst, worst)
  return {
    remaining,
    /** Cost of tasks that are already open. */
    open: open.credits,
    after: minus(remaining, open.credits, credits),
    after_worst: afterWorst,
    floor,
    /** True if the balance stays at or above the floor even in the worst case. */
    above_floor: afterWorst === null ? null : afterWorst >= floor,
    budget,
    /** True if even the worst case stays within the budget; null if unknown or if there is no budget. */
    within_budget:
      worst === null || budget === null || before === null ? null : worst + before <= budget,
  }
}

function minus(first: number | null, second: number | null, third: number | null): number | null {
  return first === null || second === null || third === null ? null : first - second - third
}

/** True if a purchase of the given number of calls needs confirmation. */
export function needsYes(queued: number, { basis }: Estimate): boolean {
  return queued > (basis === 'unknown' ? 500 : 1000)
}
