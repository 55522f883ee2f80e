// Calls a function every minute in one process, through a queue of its own.

import { pause, within } from '../../base/waiting.ts'
import { openBackend, type QueueStore } from './bullmq.ts'

/** Calls one function every minute, in one of the processes that ask for it. */
interface Ticker {
  close(): Promise<void>
}

// A queue of its own that nobody pauses: a stop of the slices must not stop the clock.
const name = 'ticks'
const scheduler = 'every-minute'
const tries = 20
const closeWithinMs = 5_000

/** Starts the clock on either backend, or joins the one that runs already. The store must answer. */
export async function openTicker(
  store: QueueStore,
  id: string,
  onTick: () => Promise<void>,
): Promise<Ticker> {
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
      // On Postgres two processes that begin in the same moment collide; one of them has succeeded.
      if (left === 0) throw error
      await pause(20 + Math.random() * 200)
    }
  }
  const worker = backend.worker<Record<string, never>>(name, () => onTick(), { concurrency: 1 })
  return {
    close: async () => {
      await orGiveUp(worker.close())
      await orGiveUp(queue.close())
      await backend.close()
    },
  }
}

/** Closing hangs while the store is away: a deadline of our own ends it. */
async function orGiveUp(closing: Promise<unknown>): Promise<void> {
  await within(closing, { ms: closeWithinMs })
}
