// The queue of slices: adds, counts and consumes their jobs.

import type { Job, Worker } from 'bullmq'
import { z } from 'zod'
import { Unreachable } from '../../base/errors.ts'
import { late, within } from '../../base/waiting.ts'
import { type Backend, type BackendName, openBackend, type QueueStore } from './bullmq.ts'

/** A slice of a run, in one of its rounds: all that a job carries. */
export interface SliceJob {
  readonly run: number
  readonly slice: number
  readonly round: number
}

export interface QueuedSlice extends SliceJob {
  readonly priority: number
  /** Its place among others of its priority, from 0 up; null: before all that have one. */
  readonly turn: number | null
  /** Not handed out before this many milliseconds. */
  readonly delayMs?: number
}

/** Hands slices to one function until it is closed. */
export interface Consumer {
  /** Fetches nothing further; what is at work goes on. */
  pause(): Promise<void>
  /** Stops fetching, waits for what is at work. */
  close(): Promise<void>
}

/** The queue of slices. It only wakes workers: whatever it loses is made again from the tables. */
export interface SliceQueue {
  readonly backend: BackendName
  /** Adds jobs; one that is still held under the same id stays as it is. */
  add(slices: readonly QueuedSlice[]): Promise<void>
  consume(work: (job: SliceJob) => Promise<void>, slots: number): Consumer
  /** Hands out what is due, also where a clock that ran ahead put it off; what is at work stays there. */
  wake(due: readonly QueuedSlice[]): Promise<void>
  /** Makes good what a worker left whose clock ran ahead, as soon as may be. */
  mend(): Promise<void>
  /** Jobs that wait, are delayed or at work. */
  count(): Promise<{ jobs: number; paused: boolean }>
  /** BullMQ's own metrics, as Prometheus reads them. */
  metrics(): Promise<string>
  close(): Promise<void>
}

const name = 'slices'
const shape = z.object({ run: z.number().int(), slice: z.number().int(), round: z.number().int() })
const chunk = 1000
const answerWithinMs = 20_000
const closeWithinMs = 3_000

/** Begins with a letter and has no colon: BullMQ refuses other ids. */
function jobId({ run, slice, round }: SliceJob): string {
  return `s-${run}-${slice}-${round}`
}

/** Opens the queue on either backend. The store must answer: objects made while it is away never recover. */
export async function openQueue(store: QueueStore, id: string): Promise<SliceQueue> {
  const backend = await openBackend(store, id)
  const queue = backend.queue<SliceJob>(name)
  await answered(queue.waitUntilReady(), backend.name)
  const add = async (slices: readonly QueuedSlice[]) => {
    for (let start = 0; start < slices.length; start += chunk) {
      const jobs = slices.slice(start, start + chunk).map(jobOf)
      await answered(queue.addBulk(jobs), backend.name)
    }
  }
  return {
    backend: backend.name,
    add,
    mend: () => backend.undoLeaps(),
    wake: async (due) => {
      await backend.undoLeaps()
      await add(due)
      const ids = new Set(due.map(jobId))
      const delayed = await answered(queue.getDelayed(0, chunk - 1), backend.name)
      for (const job of delayed)
        if (ids.has(job.id ?? '')) await answered(promote(job), backend.name)
    },
    consume: (work, slots) => consume(backend, work, slots),
    count: async () => {
      const counts = queue.getJobCounts('waiting', 'active', 'delayed', 'prioritized')
      const found = await answered(counts, backend.name)
      const jobs = Object.values(found).reduce((sum, count) => sum + count, 0)
      return { jobs, paused: await answered(queue.isPaused(), backend.name) }
    },
    metrics: () => answered(queue.exportPrometheusMetrics(), backend.name),
    close: async () => {
      await orGiveUp(queue.close())
      await backend.close()
    },
  }
}

/** BullMQ knows two million priorities: each of ours has so many places for turns. */
const places = 200_000

/**
 * The priority of a job: ours first, then its turn. Turns may be as large as what a list costs, so they stand as close as
 * their logarithms: one of a thousand credits is told from one of a thousand and one tenth.
 */
export function jobPriority(priority: number, turn: number | null): number {
  const place = turn === null ? 0 : Math.round(10_000 * Math.log1p(turn))
  return priority * places + Math.min(place, places - 1)
}

/** Another worker may do the same at this moment. */
async function promote(job: Job<SliceJob>): Promise<void> {
  await job.promote().catch(() => undefined)
}

function jobOf({ run, slice, round, priority, turn, delayMs }: QueuedSlice) {
  const data = { run, slice, round }
  return {
    name,
    data,
    opts: {
      jobId: jobId(data),
      // Always sent: a job without a priority runs before all that have one.
      priority: jobPriority(priority, turn),
      ...(delayMs === undefined || delayMs <= 0 ? {} : { delay: Math.ceil(delayMs) }),
      // Tries of tasks are counted in the tables; these are for a store that fails for a moment.
      attempts: 3,
      backoff: { type: 'fixed', delay: 1_000 },
      removeOnComplete: true,
      removeOnFail: true,
    },
  }
}

function consume(
  backend: Backend,
  work: (job: SliceJob) => Promise<void>,
  slots: number,
): Consumer {
  const worker: Worker<SliceJob> = backend.worker<SliceJob>(
    name,
    // A store that lost data hands out empty jobs: none may reach the API.
    async (data) => work(shape.parse(data)),
    { concurrency: slots },
  )
  return { pause: () => orGiveUp(worker.pause(true)), close: () => orGiveUp(worker.close()) }
}

/** Closing hangs while the store is away: a deadline of our own ends it. */
async function orGiveUp(closing: Promise<unknown>): Promise<void> {
  await within(closing, { ms: closeWithinMs })
}

async function answered<T>(answer: Promise<T>, backend: BackendName): Promise<T> {
  const found = await within(answer, { ms: answerWithinMs })
  if (found !== late) return found
  throw new Unreachable(
    `expected the queue on ${backend} to answer within ${answerWithinMs} ms, got nothing`,
  )
}
