// Calls a function every minute in only one of several processes, using a separate queue.

import { pause, within } from '../../base/waiting.ts'
import { openBackend, type QueueStore } from './bullmq.ts'

// Pausing the queue of slices must not stop the clock.
const name = 'ticks'
const scheduler = 'every-minute'
const tries = 20
const closeWithinMs = 5_000

/** Starts or joins the clock, which calls one registered process each minute. The store must be reachable. */
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
      // On Postgres, if two processes create the scheduler at the same time, one process fails and must retry.
      if (left === 0) throw error
      await pause(20 + Math.random() * 200)
    }
  }
  const worker = backend.worker<Record<string, never>>(name, () => onTick(), 1)
  return {
    close: async () => {
      // Closing hangs while the store is unreachable.
      await within(worker.close(), { ms: closeWithinMs })
      await within(queue.close(), { ms: closeWithinMs })
      await backend.close()
    },
  }
}
