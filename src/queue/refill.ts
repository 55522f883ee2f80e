import type { Database } from '../store/database.ts'
import { awaitedLater } from '../store/later.ts'
import { listOpenSlices } from '../store/slices.ts'
import type { QueuedSlice } from './slices.ts'

/** Where slices are handed to. */
export interface SliceSink {
  add(slices: readonly QueuedSlice[]): Promise<void>
}

export interface RefillOptions {
  readonly db: Database
  /** Only slices of this run. */
  readonly run?: number | undefined
  /** Told after each page how many slices were handed over. */
  readonly told?: (slices: number) => void
}

const page = 1_000

/** Hands every slice with an open task to the queue; a job that is still held stays as it is. */
export async function refill(queue: SliceSink, options: RefillOptions): Promise<number> {
  const { db, run, told } = options
  let after: { run: number; slice: number } | null = null
  let queued = 0
  let adding: Promise<void> = Promise.resolve()
  for (;;) {
    // The queue takes one page while the next one is looked up.
    const slices = await listOpenSlices(db, { after, limit: page, run })
    await adding
    told?.(queued)
    const last = slices.at(-1)
    if (last === undefined) return queued
    const jobs = slices.map(({ delay_ms: delayMs, ...slice }) => ({ ...slice, delayMs }))
    adding = awaitedLater(queue.add(jobs))
    queued += slices.length
    after = last
  }
}
