// Limits the paid calls in flight with p-limit.

import pLimit from 'p-limit'

/** The lanes of one process: the number of paid calls that may be in flight. */
export type Lanes = ReturnType<typeof openLanes>

/**
 * Opens the lanes. Never wait for a lane while holding a lane: once all lanes are taken, every call would wait forever.
 * Up to `ahead` additional calls are kept ready, so that a free lane never waits for its next call.
 */
export function openLanes(lanes: number, ahead = 0) {
  const limit = pLimit(lanes)
  let ready = ahead
  return {
    /** Waits for a lane, and holds it only until the end of the call. The lane is free again before the commit. */
    run: <T>(call: () => Promise<T>) => limit(call),
    /** Number of calls to reserve now: the free lanes, plus the calls to keep ready in advance. */
    free: () => {
      const room = limit.concurrency + ready - limit.activeCount - limit.pendingCount
      // While more than half of the ready calls are left, no calls are added, so that calls are reserved in groups.
      return room * 2 < ready ? 0 : Math.max(0, room)
    },
    /**
     * Sets the number of calls that may be in flight or ready. An increase applies at once, and a decrease applies as
     * calls end.
     */
    resize: (calls: number) => {
      limit.concurrency = Math.max(1, Math.min(lanes, calls))
      ready = Math.max(0, Math.min(ahead, calls - lanes))
    },
  }
}
