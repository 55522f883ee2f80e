import type { Mill } from './mill.ts'
import { closeRuns, listOpenSlices } from './store/slices.ts'

const page = 2_000

/** Makes one job for each slice with an open task; a job that is still held stays as it is. */
export async function rebuild(mill: Mill, run?: number): Promise<number> {
  const queue = await mill.queue()
  let after: { run: number; slice: number } | null = null
  let queued = 0
  for (;;) {
    const slices = await listOpenSlices(mill.db, {
      after,
      limit: page,
      ...(run === undefined ? {} : { run }),
    })
    const last = slices.at(-1)
    if (last === undefined) break
    await queue.add(slices.map(({ delay_ms: delayMs, ...slice }) => ({ ...slice, delayMs })))
    queued += slices.length
    after = last
  }
  await closeRuns(mill.db)
  return queued
}
