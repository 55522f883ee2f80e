// Rebuilds the queue from the database.

import type { Mill } from '../mill.ts'
import { closeRuns } from '../queue/open-slices.ts'
import { refill } from '../queue/refill.ts'

/** Creates a job for each slice with an open task, in all runs or in one given run. */
export async function rebuild(mill: Mill, run?: number): Promise<number> {
  const queued = await refill(await mill.queue(), { db: mill.db, run })
  await closeRuns(mill.db)
  return queued
}
