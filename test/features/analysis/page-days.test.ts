// @module-tag slow
import { expect, test } from 'vitest'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { readRows } from '../../../src/base/database/sql-file.ts'
import { tellByChance } from './chance.ts'
import { storyScene } from './scene.ts'

const scene = storyScene()

const span = { since: '2026-01-01', until: '2026-12-31' }

type PageDay = Record<'queryId' | 'runDate', string> & { readonly position: number }

/** Positions of all pages, one per line: as read for each page, and as in all results. */
async function placesOf(): Promise<{ readonly read: string[]; readonly said: string[] }> {
  const keys = await scene.pool.query<{ key: string }>('select distinct url_key as key from pages')
  const read: string[] = []
  for (const { key } of keys.rows) {
    const parameters = { key, ...span, most: 20_000 }
    const days = await readRows<PageDay>(scene.db, 'read_page_days', parameters)
    read.push(...days.map((day) => `${key} ${day.queryId} ${day.runDate} ${day.position}`))
  }
  const { rows } = await scene.pool.query<{ line: string }>(
    `select concat_ws(' ', url_key, query_id, run_date, min(position)) as line
    from analysis.results
    where position is not null
    group by url_key, query_id, run_date`,
  )
  return { read: read.toSorted(), said: rows.map(({ line }) => line).toSorted() }
}

test.each([1, 2, 3])(
  'every position of a page is found on stored days, on others and with suspect nights, history %i',
  async (seed) => {
    await tellByChance(scene.story, { seed, days: 5 })
    await scene.pool.query("update runs set state = 'done', suspect = id % 4 = 0")
    const fresh = await placesOf()
    expect(fresh.said.length).toBeGreaterThan(20)
    expect(fresh.read).toEqual(fresh.said)
    await finishDays(scene.db, 3)
    const some = await placesOf()
    expect(some.read).toEqual(fresh.said)
    await finishDays(scene.db)
    expect((await placesOf()).read).toEqual(fresh.said)
    // A new page appears on a day without stored sums.
    await scene.story.night('2026-03-01', { shoes: ['new.com/page', 'd1.com/1'] })
    const later = await placesOf()
    expect(later.said.length).toBeGreaterThan(fresh.said.length)
    expect(later.read).toEqual(later.said)
  },
)
