// Calls a function every minute in one process, using its own queue.

import { pause, within } from '../../base/waiting.ts'
import { openBackend, type QueueStore } from './bullmq.ts'

// A separate queue that is never paused, so that pausing the slices does not stop the clock.
const name = 'ticks'
const scheduler = 'every-minute'
const tries = 20
const closeWithinMs = 5_000

/** Starts or joins the clock, which wakes one of the registered processes. The store must be reachable. */
export async function openTicker(store: QueueStore, id: string, onTick: () => Promise<void>) {
  const backend = await openBackend(store, id)
  const queue = backend.queue<Record<string, never>>(name)
  await queue.waitUntilReady()
  for (let left = tries; ; left--) {
    try {
      await queue.upsertJobScheduler(
        scheduler,
        { pattern: '* * * * *', tz: 'UTC' },
        { name, data: {}, opts: { removeOnComplete: true, removeOnFail: true, priority: 1 } },
      )
      break
    } catch (error) {
      // On Postgres, if two processes create the scheduler at the same moment, one of them gets an error and tries again.
      if (left === 0) throw error
      await pause(20 + Math.random() * 200)
    }
  }
  const worker = backend.worker<Record<string, never>>(name, () => onTick(), 1)
  return {
    close: async () => {
      // Closing would hang while the store is unreachable.
      await within(worker.close(), { ms: closeWithinMs })
      await within(queue.close(), { ms: closeWithinMs })
      await backend.close()
    },
  }
}
