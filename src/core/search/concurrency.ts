// Limits the number of paid calls in flight.

import pLimit from 'p-limit'

/** The lanes of a process. Each lane allows one paid call in flight. */
export type Lanes = ReturnType<typeof openLanes>

/** Opens the lanes. Waiting for a lane while holding another lane can cause a deadlock. */
export function openLanes(lanes: number, ahead = 0) {
  const limit = pLimit(lanes)
  let ready = ahead
  return {
    /** Waits for a lane, and holds it until the call ends. The lane is released before the commit. */
    run: <T>(call: () => Promise<T>) => limit(call),
    /** Number of calls to reserve now: one for each free lane, plus a few spare calls. */
    free: () => {
      const room = limit.concurrency + ready - limit.activeCount - limit.pendingCount
      // To reserve calls in groups, no calls are added while more than half of the ready calls are left.
      return room * 2 < ready ? 0 : Math.max(0, room)
    },
    /** Limits the calls in flight or ready to send. Increases apply immediately; decreases apply as calls end. */
    resize: (calls: number) => {
      limit.concurrency = Math.max(1, Math.min(lanes, calls))
      ready = Math.max(0, Math.min(ahead, calls - lanes))
    },
  }
}
