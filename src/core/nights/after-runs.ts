// Closes and judges runs that have no work left.

import { type Database, openDatabase, openPool } from '../../base/database/database.ts'
import { letGo, troubleOf } from '../../base/database/trouble.ts'
import { scrubbedReason } from '../../base/secret.ts'
import type { Mill } from '../mill.ts'
import { anyUnfinished, finishDays } from './finish.ts'
import { endRuns } from './judge.ts'

export type AfterRuns = (
  mill: Pick<Mill, 'db' | 'databaseUrl'>,
  report: (line: string) => void,
) => Promise<void>

export const closeAndJudge: AfterRuns = (mill, report) =>
  endRuns(mill.db, { report, reading: (read) => besideWork(mill, read) })

/** Stores one more day's sums, which takes seconds for a large day and must not delay the end of a list. */
export const addUpDay: AfterRuns = async (mill, report) => {
  if (!(await anyUnfinished(mill.db))) return
  await besideWork(mill, async (db) => {
    try {
      await finishDays(db, 1)
    } catch (error) {
      if (troubleOf(error) !== 'data') throw error
      // A day without stored sums is computed from its answers, which is slower but gives the same result.
      report(`a day's sums could not be computed: ${scrubbedReason(error)}`)
    }
  })
}

/** Uses a separate connection, because a worker's connections are tuned for key lookups and must not be blocked. */
export async function besideWork<T>(
  { databaseUrl }: Pick<Mill, 'databaseUrl'>,
  work: (db: Database) => Promise<T>,
): Promise<T> {
  const db = openDatabase(openPool(databaseUrl, { name: 'alerts', max: 1 }))
  try {
    return await work(db)
  } finally {
    await letGo(() => db.destroy())
  }
}
