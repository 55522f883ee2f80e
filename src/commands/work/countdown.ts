/** What is left of tasks that were handed in. */
export interface Leftover {
  /** Tasks that stay open for a later round. */
  readonly open: number
  /** True when some of them wait for a call that another worker has in flight. */
  readonly busy: boolean
}

/** Counts down the tasks that were handed in together, for the slice that waits for them. */
export interface Countdown {
  readonly resolve: (left: Leftover) => void
  waiting: number
  open: number
  busy: boolean
}

/** One of the tasks is done with; the last one tells the slice what is left. */
export function countDown(countdown: Countdown, open: boolean): void {
  countdown.waiting -= 1
  if (open) countdown.open += 1
  if (countdown.waiting > 0) return
  countdown.resolve({ open: countdown.open, busy: countdown.busy })
}
