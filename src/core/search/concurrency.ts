// Bounds the paid calls in flight with p-limit.

import pLimit from 'p-limit'

/** The lanes of one process: how many paid calls may be in flight. */
export interface Lanes {
  /** Waits for a lane, holds it for as long as the call lasts, and no longer: not for the commit. */
  run<T>(call: () => Promise<T>): Promise<T>
  /** Calls to reserve now: lanes that nobody holds or waits for, and what may stand ready for them. */
  free(): number
  /** So many calls may be on their way or ready: more are begun at once, fewer as calls end. */
  resize(calls: number): void
}

/**
 * Opens the lanes. Never run a lane inside a lane: with all of them taken both would wait for ever.
 * Up to `ahead` calls stand ready beside them, so that no lane waits for its next one.
 */
export function openLanes(lanes: number, ahead = 0): Lanes {
  const limit = pLimit(lanes)
  let ready = ahead
  return {
    run: (call) => limit(call),
    free: () => {
      const room = limit.concurrency + ready - limit.activeCount - limit.pendingCount
      // While half of what stands ready is left nothing is urgent: it is filled up in groups, not one by one.
      return room * 2 < ready ? 0 : Math.max(0, room)
    },
    resize: (calls) => {
      limit.concurrency = Math.max(1, Math.min(lanes, calls))
      ready = Math.max(0, Math.min(ahead, calls - lanes))
    },
  }
}
