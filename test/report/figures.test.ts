import { afterEach, beforeEach, expect, test } from 'vitest'
import { readFigures, type FigureOptions } from '../../src/store/figures.ts'
import { Story } from '../analysis/story.ts'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'

let database: FreshDatabase
let story: Story
beforeEach(async () => {
  database = await freshDatabase()
  story = new Story(database.pool)
})
afterEach(() => database.close())

const read = (options: Partial<FigureOptions> = {}) =>
  readFigures(database.db, { origins: undefined, tag: '*', domains: [], ...options })

test('a shown domain has a share of nought on each day without it, and no day is made up', async () => {
  await story.night('2026-01-01', { shoes: ['a.com/'] })
  await story.night('2026-01-02', { shoes: ['b.com/'] })
  await story.night('2026-01-04', { shoes: ['a.com/'] })
  const { shares } = await read({ domains: ['b.com', 'never.com'] })
  const found = shares.map(({ domain, runDate, share }) => `${runDate} ${domain} ${share > 0}`)
  expect(found.toSorted()).toEqual([
    '2026-01-01 a.com true',
    '2026-01-01 b.com false',
    '2026-01-01 never.com false',
    '2026-01-02 a.com false',
    '2026-01-02 b.com true',
    '2026-01-02 never.com false',
    '2026-01-04 a.com true',
    '2026-01-04 b.com false',
    '2026-01-04 never.com false',
  ])
})
