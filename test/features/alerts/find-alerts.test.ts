import { afterEach, beforeEach, expect, test } from 'vitest'
import { addUpDay } from '../../../src/core/nights/after-runs.ts'
import { endNights } from '../../../src/features/alerts/find-alerts.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { Story } from '../analysis/story.ts'

let database: FreshDatabase

beforeEach(async () => {
  database = await freshDatabase()
})

afterEach(() => database.close())

async function keptDays(): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ day: string }>(
    'select run_date::text as day from finished_days where made_at is not null order by 1',
  )
  return rows.map(({ day }) => day)
}

test('the end of a run does not wait for sums; they are added up concurrently, a day at a time, oldest first', async () => {
  const story = new Story(database.pool)
  await story.night('2026-01-01', { shoes: ['a.com/'] })
  await story.night('2026-01-02', { shoes: ['b.com/'] })
  const mill = { db: database.db, databaseUrl: database.url }
  await endNights(mill, () => undefined)
  expect(await keptDays()).toEqual([])
  await addUpDay(mill, () => undefined)
  expect(await keptDays()).toEqual(['2026-01-01'])
  await addUpDay(mill, () => undefined)
  await addUpDay(mill, () => undefined)
  expect(await keptDays()).toEqual(['2026-01-01', '2026-01-02'])
})
