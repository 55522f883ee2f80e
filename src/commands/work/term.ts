/** The two clocks of a machine: one stands still while the machine sleeps, the other may be set. */
export interface Clocks {
  readonly steady: number
  readonly wall: number
}

export function readClocks(): Clocks {
  return { steady: performance.now(), wall: Date.now() }
}

/** When a lease ends that was asked for at this moment: the database counts from later on. */
export function termOf(asked: Clocks, leaseMs: number): Clocks {
  return { steady: asked.steady + leaseMs, wall: asked.wall + leaseMs }
}

/** True when a call begun now ends within the term by both clocks: whichever of them ran shows that it is over. */
export function coversCall(term: Clocks, now: Clocks, callMs: number): boolean {
  return now.steady + callMs < term.steady && now.wall + callMs < term.wall
}

/** A worker beats this often within a lease. */
export const beats = 6
/** After an outage of more than so many beats, the others get as many before their calls are given up. */
const sparedBeats = 2

/** Until when nobody is given up after a beat: what kept this worker from beating may have kept the others from it. */
export function sparedUntil(
  before: number,
  { now, beatAt, leaseMs }: { now: number; beatAt: number; leaseMs: number },
): number {
  const spared = (sparedBeats * leaseMs) / beats
  return now - beatAt > spared ? now + spared : before
}
