// Ends runs that have nothing left to do: closes and judges them.

import { type Database, openDatabase, openPool } from '../../base/database/database.ts'
import { letGo, troubleOf } from '../../base/database/trouble.ts'
import { scrubbedReason } from '../../base/secret.ts'
import type { Mill } from '../mill.ts'
import { anyUnfinished, finishDays } from './finish.ts'
import { endRuns } from './judge.ts'

export type AfterRuns = (
  mill: Pick<Mill, 'db' | 'databaseUrl'>,
  tell: (line: string) => void,
) => Promise<void>

/** Closes and judges runs that ended: what follows when nothing else is handed in. */
export const closeAndJudge: AfterRuns = ({ db }, tell) => endRuns(db, tell)

/**
 * Adds up the next day whose runs have ended. A large one takes seconds: nobody who waits for the end of a list, or takes
 * a database that is slow for one that is away, is to wait for it.
 */
export const addUpDay: AfterRuns = async (mill, tell) => {
  if (!(await anyUnfinished(mill.db))) return
  await besideWork(mill, async (db) => {
    try {
      await finishDays(db, 1)
    } catch (error) {
      if (troubleOf(error) !== 'data') throw error
      // Without its sums a day is read answer by answer: nothing is lost but time.
      tell(`a day was not added up: ${scrubbedReason(error)}`)
    }
  })
}

/** Works on a connection of its own: those of a worker go by keys alone, and may hold nothing for long. */
export async function besideWork(
  { databaseUrl }: Pick<Mill, 'databaseUrl'>,
  work: (db: Database) => Promise<void>,
): Promise<void> {
  const db = openDatabase(openPool(databaseUrl, { name: 'alerts', max: 1 }))
  try {
    await work(db)
  } finally {
    await letGo(() => db.destroy())
  }
}
