import type { Round } from '../../store/planning/expansions.ts'

/** What is to be done next for an expansion. */
export type ExpandStep =
  /** The workers have not answered what was taken. */
  | { readonly kind: 'wait'; readonly round: number }
  /** What was taken and never asked comes first: its planning broke off, or its credits did not reach. */
  | { readonly kind: 'again'; readonly round: number; readonly queries: number }
  /** Credits are left, and answers of these rounds may name more. */
  | { readonly kind: 'take'; readonly from: number; readonly until: number; readonly share: number }
  /** The credits are used. */
  | { readonly kind: 'spent' }

/** What has been done, and what there is to do it with. */
export interface RoundsStanding {
  readonly rounds: readonly Round[]
  /** True while a run of the list is open. */
  readonly busy: boolean
  readonly depth: number
  /** Credits that are left of those that were typed. */
  readonly left: number
  /** What a query costs at the worst. */
  readonly price: number
}

/**
 * A round begins when the former one is done. Credits are shared out evenly over the rounds to come; what is left when the
 * last one is done goes to the most promising of all rounds.
 */
export function nextRound({ rounds, busy, depth, left, price }: RoundsStanding): ExpandStep {
  const newest = rounds.at(-1)
  const done = newest?.round ?? 0
  if (busy || rounds.some(({ open }) => open > 0)) return { kind: 'wait', round: done }
  if (left < price) return { kind: 'spent' }
  const queries = rounds.reduce((sum, { unplanned, unasked }) => sum + unplanned + unasked, 0)
  if (queries > 0) return { kind: 'again', round: done, queries }
  if (done >= depth) return { kind: 'take', from: 0, until: depth - 1, share: left }
  const share = Math.max(Math.floor(left / (depth - done)), Math.min(price, left))
  return { kind: 'take', from: done, until: done, share }
}
