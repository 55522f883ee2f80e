// The queue of slices: adds, counts and consumes their jobs.

import { z } from 'zod'
import { Unreachable } from '../../base/errors.ts'
import { late, within } from '../../base/waiting.ts'
import { openBackend, type QueueStore } from './bullmq.ts'

const shape = z.object({ run: z.number().int(), slice: z.number().int(), round: z.number().int() })

/** Job data: the run, the slice and the slice's round. */
export type SliceJob = Readonly<z.infer<typeof shape>>

export interface QueuedSlice extends SliceJob {
  readonly priority: number
  /** Position among jobs of the same priority, starting at 0; null for jobs before all others. */
  readonly turn: number | null
  readonly delayMs?: number
}

/** The queue of slices. The jobs only wake workers, and lost jobs are recreated from the database. */
export type SliceQueue = Awaited<ReturnType<typeof openQueue>>

/** Both methods stop the fetching of slices. `close` also waits for slices in progress. */
export type Consumer = ReturnType<SliceQueue['consume']>

const name = 'slices'
const chunk = 1000
const answerWithinMs = 20_000
const closeWithinMs = 3_000

/** Returns a job's id, which starts with a letter and has no colon, because BullMQ rejects other ids. */
function jobId({ run, slice, round }: SliceJob): string {
  return `s-${run}-${slice}-${round}`
}

/** Opens the queue on either backend. The store must be reachable: a queue opened during an outage never recovers. */
export async function openQueue(store: QueueStore, id: string) {
  const backend = await openBackend(store, id)
  const queue = backend.queue<SliceJob>(name)
  const ask = <T>(request: Promise<T>) => answered(request, backend.name)
  await ask(queue.waitUntilReady())
  const add = async (slices: readonly QueuedSlice[]) => {
    for (let start = 0; start < slices.length; start += chunk) {
      const jobs = slices.slice(start, start + chunk).map(jobOf)
      await ask(queue.addBulk(jobs))
    }
  }
  return {
    backend: backend.name,
    add,
    repair: () => backend.undoLeaps(),
    /** Delivers due slices now, even if a worker with a fast clock delayed them. Does not affect slices in progress. */
    wake: async (due: readonly QueuedSlice[]) => {
      await backend.undoLeaps()
      await add(due)
      const ids = new Set(due.map(jobId))
      const delayed = await ask(queue.getDelayed(0, chunk - 1))
      for (const job of delayed.filter(({ id: one = '' }) => ids.has(one))) {
        // Another worker may be promoting the job at the same time.
        await ask(job.promote().catch(() => undefined))
      }
    },
    consume: (work: (job: SliceJob) => Promise<void>, concurrency: number) => {
      // A store that has lost data delivers empty jobs. Parsing rejects these jobs.
      const safely = async (data: SliceJob) => work(shape.parse(data))
      const worker = backend.worker(name, safely, concurrency)
      return { pause: () => orGiveUp(worker.pause(true)), close: () => orGiveUp(worker.close()) }
    },
    count: async () => {
      const counts = queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized')
      const found = await ask(counts)
      const jobs = Object.values(found).reduce((sum, count) => sum + count, 0)
      return { jobs, paused: await ask(queue.isPaused()) }
    },
    metrics: () => ask(queue.exportPrometheusMetrics()),
    close: async () => {
      await orGiveUp(queue.close())
      await backend.close()
    },
  }
}

/** Number of queue positions per task priority. BullMQ supports two million priority values in total. */
const places = 200_000

/**
 * Returns a job's priority. Jobs are ordered by our priority, then by turn. Turns can be as large as a list's
 * cost, so the scale is logarithmic. Turns of 1,000 and 1,000.1 credits still have different positions.
 */
export function jobPriority(priority: number, turn: number | null): number {
  const place = turn === null ? 0 : Math.round(10_000 * Math.log1p(turn))
  return priority * places + Math.min(place, places - 1)
}

function jobOf({ run, slice, round, priority, turn, delayMs }: QueuedSlice) {
  const data = { run, slice, round }
  return {
    name,
    data,
    opts: {
      jobId: jobId(data),
      // The priority is always set, because a job without a priority runs before all others.
      priority: jobPriority(priority, turn),
      ...(delayMs === undefined || delayMs <= 0 ? {} : { delay: Math.ceil(delayMs) }),
      // A job is tried again if the store fails briefly. Retries of tasks are counted in the database.
      attempts: 3,
      backoff: { type: 'fixed', delay: 1_000 },
      removeOnComplete: true,
      removeOnFail: true,
    },
  }
}

/** Limits the wait for closing, which hangs while the store is unreachable. */
async function orGiveUp(closing: Promise<unknown>): Promise<void> {
  await within(closing, { ms: closeWithinMs })
}

async function answered<T>(answer: Promise<T>, backend: string): Promise<T> {
  const found = await within(answer, { ms: answerWithinMs })
  if (found !== late) return found
  throw new Unreachable(
    `expected the queue on ${backend} to respond within ${answerWithinMs} ms, got no response`,
  )
}
