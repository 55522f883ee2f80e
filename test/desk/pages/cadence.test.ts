import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { decideCadence } from '../../../src/features/cadence/choose.ts'
import { deskScene } from '../scene.ts'

const still = Array.from({ length: 10 }, (_, place) => `a.example/${place}`)
const dateOf = (day: number) => `2026-03-${String(day).padStart(2, '0')}`

const scene = deskScene(async ({ story, db }) => {
  for (let day = 1; day <= 20; day++) {
    const shoes = { results: day < 19 ? still : [...still.slice(0, 9), 'b.example/new'], depth: 20 }
    await story.night(dateOf(day), { 'red shoes': shoes, hats: { results: still, depth: 20 } })
  }
  const brought = [...still.slice(0, 8), 'c.example/1', 'c.example/2']
  await story.night(dateOf(20), { boots: { results: brought } }, { list: 'more' })
  await story.night(dateOf(20), { socks: { results: still } }, { list: 'more' })
  for (const [q, round] of [
    ['boots', 1],
    ['socks', 2],
  ] as const) {
    await sql`
      insert into expansions (list_id, query_id, source_list_id, origin, round, from_query, sources, weight, run_id)
      select took.id, queries.id, main.id, 'live', ${round}, queries.id, 1, 1,
        (select max(run_id) from tasks where query_id = queries.id)
      from lists as took, lists as main, queries
      where took.name = 'more' and main.name = 'main' and queries.q = ${q}`.execute(db)
  }
  const night = { longestDays: 14, origin: 'live', api: 'api.example.com' } as const
  for (const day of [19, 20, 21]) {
    await decideCadence(db, { ...night, list: 1, runDate: dateOf(day) })
  }
})

describe('the page Cadence', () => {
  test('shows for each adaptive list its savings, the moves seen, and how often its queries are bought', async () => {
    const view = await scene.view('/cadence?since=2026-03-01&until=2026-03-31')
    expect(view).toContain('credits spent')
    expect(view).toContain('How often the queries of main are asked, as decided for 2026-03-21')
    expect(view).toMatch(/every 2 days 1 1 of 2/)
    expect(view).toContain('Pages entering or leaving the top 10 for main, by night')
  })

  test('shows the share of new results in each round of related searches', async () => {
    const view = await scene.view('/cadence?since=2026-03-01&until=2026-03-31')
    expect(view).toContain('New results from related searches')
    // In round 1, two of ten pages are new, with one new domain; in round 2, none is.
    expect(view).toContain('1 1 1 20.00 % 50.00 % 2 1 2 1 1 0.00 % 0.00 % 0 0')
  })

  test('is linked from the nights', async () => {
    expect(await scene.markup('/nights?since=2026-03-01&until=2026-03-31')).toMatch(
      /href="\/cadence/,
    )
  })
})
