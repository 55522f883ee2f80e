/** What is left of tasks that were handed in. */
export interface Leftover {
  /** Tasks that stay open for a later round. */
  readonly open: number
  /** True when some of them wait for a call that somebody else has in flight. */
  readonly busy: boolean
}

/** Tasks that were handed in together, and who waits for them. */
export interface Hand {
  readonly resolve: (left: Leftover) => void
  waiting: number
  open: number
  busy: boolean
}

/** One task of a hand is done with. */
export function settle(hand: Hand, open: boolean): void {
  hand.waiting -= 1
  if (open) hand.open += 1
  if (hand.waiting === 0) hand.resolve({ open: hand.open, busy: hand.busy })
}
