// @module-tag slow
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sliceSettings } from '../../../src/base/database/views.ts'
import { findQuestion } from '../../../src/features/analysis/library.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { histories } from '../../support/schedules.ts'
import { tellByChance } from './chance.ts'
import { Story } from './story.ts'

let database: FreshDatabase
beforeEach(async () => {
  database = await freshDatabase()
})
afterEach(() => database.close())

const slices = [
  '[["+device=mobile"]]',
  '[["+red","+new"],["-device=mobile"]]',
  '[["-list=main"]]',
  '[["+new"]]',
]

test.each(histories)(
  'a slice that is looked up for all days at once holds the same observations and shares, history %i',
  async (seed) => {
    const story = new Story(database.pool)
    await tellByChance(story, { seed, days: 4 })
    // What the list says changes, and another list asks too.
    story.says('hats', { tags: ['new'] })
    await story.night('2026-02-03', { hats: ['d1.com/'], shoes: ['d1.com/'] }, { list: 'second' })
    for (const slice of slices) {
      const read = async (mode: string) => {
        const client = await database.pool.connect()
        await client.query("select set_config('querymill.slice', $1, false)", [slice])
        await client.query("select set_config('querymill.slice_at_once', $1, false)", [mode])
        const rows = [
          'select * from analysis.observations order by query_id, run_date',
          'select * from analysis.share_of_voice order by run_date, tag, domain',
        ].map(async (text) => (await client.query(text)).rows as unknown[])
        const found = await Promise.all(rows)
        client.release(true)
        return found
      }
      expect(await read('on')).toEqual(await read(''))
    }
  },
  60_000,
)

test('questions that read every day look a slice up at once, those about a day or a text one by one', () => {
  const once = (name: string, ...flags: string[]) => {
    const { slice } = findQuestion(name, [...flags, '--device', 'mobile'])
    return 'querymill.slice_at_once' in (slice === undefined ? {} : sliceSettings(slice))
  }
  expect(once('share_of_voice_trend')).toBe(true)
  expect(once('share_of_voice')).toBe(false)
  expect(once('rank_history', '--q', 'shoes')).toBe(false)
})
