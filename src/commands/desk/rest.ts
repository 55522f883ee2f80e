// Work that comes again takes a twentieth of the time at most.
const restShare = 20

/** How long work is not done again that began so long ago: a database that is slow is not asked without a pause. */
export function restAfter(began: number, leastMs: number): number {
  return Math.max(leastMs, (performance.now() - began) * restShare)
}
