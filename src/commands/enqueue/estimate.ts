import type { ClassCost } from '../../store/planning/prices.ts'

/** Tasks to be bought, with the parameters that prices depend on. */
export interface Purchase {
  readonly num: number
  readonly device: string | null
  readonly tasks: number
}

/** What a purchase will cost; null is "unknown", which is not zero. */
export interface Estimate {
  readonly credits: number | null
  readonly worst: number | null
  /** Where the figures come from: costs that were seen, too few of them, or nothing to buy. */
  readonly basis: 'seen' | 'unknown' | 'nothing to buy'
}

/** Adds up what calls of the same kind have cost: expected from the newest, worst from the dearest. */
export function estimateCost(
  toBuy: readonly Purchase[],
  prices: readonly ClassCost[],
  classOf: (purchase: Purchase) => string,
): Estimate {
  const wanted = toBuy.filter(({ tasks }) => tasks > 0)
  if (wanted.length === 0) return { credits: 0, worst: 0, basis: 'nothing to buy' }
  const known = new Map(prices.map((price) => [price.class, price]))
  let credits = 0
  let worst = 0
  for (const purchase of wanted) {
    const price = known.get(classOf(purchase))
    if (price === undefined) return { credits: null, worst: null, basis: 'unknown' }
    credits += purchase.tasks * (price.average ?? price.dearest)
    worst += purchase.tasks * price.dearest
  }
  return { credits: Math.ceil(credits), worst: Math.max(worst, Math.ceil(credits)), basis: 'seen' }
}

/** The sum of estimates; one unknown makes it unknown. */
export function addEstimates(estimates: readonly Estimate[]): Estimate {
  const bought = estimates.filter(({ basis }) => basis !== 'nothing to buy')
  if (bought.length === 0) return { credits: 0, worst: 0, basis: 'nothing to buy' }
  if (bought.some(({ basis }) => basis === 'unknown')) {
    return { credits: null, worst: null, basis: 'unknown' }
  }
  const sum = (read: (estimate: Estimate) => number | null): number =>
    bought.reduce((total, estimate) => total + (read(estimate) ?? 0), 0)
  return { credits: sum(({ credits }) => credits), worst: sum(({ worst }) => worst), basis: 'seen' }
}

/** What will be left, as far as it can be told; null is "unknown". */
export interface Balance {
  readonly remaining: number | null
  /** Credits that what is open already will cost; null: nobody knows. */
  readonly open: number | null
  readonly after: number | null
  readonly after_worst: number | null
  readonly floor: number
  /** True when even the worst case stays above the floor; null while cost or balance is unknown. */
  readonly above_floor: boolean | null
  readonly budget: number | null
  /** True when even the worst case stays within the budget; null while the cost is unknown or there is no budget. */
  readonly within_budget: boolean | null
}

/**
 * Holds an estimate against balance, floor and budget. What is open already is paid from the same balance. A budget is also for what its run has used and may still use of
 * it `before` this: null when nobody knows how much that is.
 */
export function foreseeBalance(
  { credits, worst }: Estimate,
  {
    remaining,
    floor,
    budget,
    open = nothing,
    before = 0,
  }: Pick<Balance, 'remaining' | 'floor' | 'budget'> & {
    open?: Estimate
    before?: number | null
  },
): Balance {
  const after = minus(remaining, open.credits, credits)
  const afterWorst = minus(remaining, open.worst, worst)
  return {
    remaining,
    open: open.credits,
    after,
    after_worst: afterWorst,
    floor,
    above_floor: afterWorst === null ? null : afterWorst >= floor,
    budget,
    within_budget:
      worst === null || budget === null || before === null ? null : worst + before <= budget,
  }
}

const nothing: Estimate = { credits: 0, worst: 0, basis: 'nothing to buy' }

function minus(first: number | null, second: number | null, third: number | null): number | null {
  return first === null || second === null || third === null ? null : first - second - third
}

/** From this many calls on a purchase is confirmed by a person; sooner while nobody knows what a call costs. */
const confirmFrom = { calls: 1000, callsOfUnknownCost: 500 } as const

/** True for a purchase that nobody should make by a slip of the hand. */
export function needsYes(queued: number, { basis }: Estimate): boolean {
  return queued > (basis === 'unknown' ? confirmFrom.callsOfUnknownCost : confirmFrom.calls)
}
