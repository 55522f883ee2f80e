import { expect, test } from 'vitest'
import { decideCadence } from '../../../src/features/cadence/choose.ts'
import { freshDatabase } from '../../support/database.ts'

test('nothing is decided for a list without queries', async () => {
  const database = await freshDatabase()
  try {
    const night = { list: 7, runDate: '2026-03-02', longestDays: 14 }
    await decideCadence(database.db, { ...night, origin: 'live', api: 'api.example.com' })
    const kept = await database.db.selectFrom('cadences').selectAll().execute()
    expect(kept).toEqual([])
  } finally {
    await database.close()
  }
})
