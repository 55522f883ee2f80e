import pLimit from 'p-limit'

/** The lanes of one process: how many paid calls may be in flight. */
export interface Lanes {
  /** Waits for a lane, holds it for as long as the call lasts, and no longer: not for the commit. */
  run<T>(call: () => Promise<T>): Promise<T>
  /** Lanes that nobody holds or waits for. */
  free(): number
  /** More lanes are used at once; fewer as calls end. */
  resize(lanes: number): void
}

/** Opens the lanes. Never run a lane inside a lane: with all of them taken both would wait for ever. */
export function openLanes(concurrency: number): Lanes {
  const limit = pLimit(concurrency)
  return {
    run: (call) => limit(call),
    free: () => Math.max(0, limit.concurrency - limit.activeCount - limit.pendingCount),
    resize: (lanes) => {
      limit.concurrency = Math.max(1, lanes)
    },
  }
}
