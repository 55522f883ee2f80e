// @module-tag slow
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readFirstTens } from '../../../src/features/cadence/first-tens.ts'
import { unpackFirstTens } from '../../../src/features/cadence/night.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { Story } from '../analysis/story.ts'

const order = {
  list: 1,
  since: '2026-03-01',
  until: '2026-03-31',
  own: false,
  origin: 'live',
  api: 'api.example.com',
  store: false,
} as const

const storing = { ...order, store: true }

const pages = (from: number, count: number) =>
  Array.from({ length: count }, (_, nth) => `a.example/${from + nth}`)

let database: FreshDatabase
beforeEach(async () => {
  database = await freshDatabase()
  const story = new Story(database.pool)
  await story.night('2026-03-01', {
    shoes: { results: pages(1, 12), depth: 12 },
    hats: pages(1, 3),
  })
  await story.night('2026-03-02', { shoes: { results: pages(2, 12), depth: 12 }, hats: [] })
})
afterEach(() => database.close())

const read = async () => {
  const seen = await readFirstTens(database.db, order)
  return seen.map(({ id, first_tens: packed }) => ({ id, firstTens: unpackFirstTens(packed) }))
}
const kept = async () => {
  const { rows } = await sql<{ kept: number }>`select count(*) as kept from first_tens`.execute(
    database.db,
  )
  return rows[0]?.kept
}

describe('the top 10 of answers', () => {
  test('are the same whether they are stored, being stored or computed', async () => {
    const before = await readFirstTens(database.db, order)
    expect(await kept()).toBe(0)
    expect(await readFirstTens(database.db, storing)).toEqual(before)
    expect(await kept()).toBe(4)
    expect(await readFirstTens(database.db, order)).toEqual(before)
    expect(await readFirstTens(database.db, storing)).toEqual(before)
    const lengths = (await read()).map(({ firstTens }) => firstTens.map((one) => one.pages.length))
    expect(lengths.map((counts) => counts.join(' ')).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      '10 10',
      '3 0',
    ])
  })

  test.each([
    ['a result that goes', 'delete from organic_results where ordinal = 1'],
    ['a result that moves', 'update organic_results set position = 11 where ordinal = 2'],
    ['a depth that is read anew', 'update searches set depth = 2'],
    ['an answer that goes', 'delete from searches where id = (select min(id) from searches)'],
    [
      'a result of another page',
      'update organic_results set page_id = gen_random_uuid() where ordinal = 1',
    ],
  ])('are read anew after %s', async (_, change) => {
    await readFirstTens(database.db, storing)
    const before = await read()
    await sql.raw(change).execute(database.db)
    const after = await read()
    expect(after).not.toEqual(before)
    await sql`truncate first_tens`.execute(database.db)
    expect(await read()).toEqual(after)
  })

  test('hold the same number for all spellings of an address', async () => {
    const night = (date: string, url: string) =>
      new Story(database.pool).night(date, { boots: [url, 'https://b.example/'] })
    await night('2026-03-03', 'https://a.example/x')
    await night('2026-03-04', 'http://a.example/x/?utm_source=n')
    const boots = (await read()).find(({ firstTens }) =>
      firstTens.every((one) => one.pages.length === 2),
    )
    const [first, second] = boots?.firstTens ?? []
    expect(second?.pages).toEqual(first?.pages)
    expect(new Set(first?.pages).size).toBe(2)
  })

  test('are not lost when other answers arrive', async () => {
    await readFirstTens(database.db, storing)
    await new Story(database.pool).night('2026-03-03', { boots: pages(1, 5) })
    expect(await kept()).toBe(4)
  })
})
