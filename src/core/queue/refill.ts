// Recreates the queue's jobs from the database.

import type { Database } from '../../base/database/database.ts'
import { awaitedLater } from '../../base/waiting.ts'
import type { QueuedSlice, SliceQueue } from './slice-jobs.ts'
import { listOpenSlices } from './open-slices.ts'

interface RefillOptions {
  readonly db: Database
  readonly run?: number | undefined
  readonly onPage?: (slices: number) => void
}

const page = 2_000
/** Number of pages that are written to the queue while the next page is read. Higher values are no faster. */
const abreast = 2

/** Adds every slice with an open task to the queue. Existing jobs are left unchanged. */
export async function refill(
  queue: Pick<SliceQueue, 'add'>,
  { db, run, onPage }: RefillOptions,
): Promise<number> {
  let after: { run: number; slice: number } | null = null
  let queued = 0
  const adding: Promise<void>[] = []
  const add = async (slices: readonly QueuedSlice[]) => {
    await queue.add(slices)
    queued += slices.length
    onPage?.(queued)
  }
  for (;;) {
    const slices = await listOpenSlices(db, { after, limit: page, run })
    const last = slices.at(-1)
    if (last === undefined) break
    if (adding.length === abreast) await adding.shift()
    adding.push(awaitedLater(add(slices)))
    after = last
  }
  await Promise.all(adding)
  return queued
}
