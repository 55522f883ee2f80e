import { describe, expect, test } from 'vitest'
import { lostRanks, type ShownResult } from '../../../src/desk/pages/query.ts'
import { placed, ten } from '../../features/analysis/story.ts'
import { deskScene } from '../scene.ts'

const results = (runDate: string, domains: readonly string[], depth = 10): ShownResult[] =>
  domains.map((domain, index) => ({
    ...{ runDate, depth, features: [], page: null, pageKey: `${domain}/`, title: null },
    ...{ domain, position: index + 1 },
  }))

describe('a lost rank', () => {
  test('is shown with the domain that has it now', () => {
    const first = [
      ...results('2026-01-03', ['a.com', 'new.com', 'us.com']),
      ...results('2026-01-02', ['a.com', 'us.com', 'b.com']),
      ...results('2026-01-01', ['a.com', 'b.com', 'us.com']),
    ]
    expect(lostRanks(first, ['us.com'])).toEqual([
      {
        ...{ runDate: '2026-01-03', previousDate: '2026-01-02', domain: 'us.com' },
        ...{ previous: 2, rank: 3, taker: 'new.com' },
      },
    ])
  })

  test('is not reported if the later answer is too shallow to show it', () => {
    const before = results('2026-01-01', ['a.com', 'b.com', 'us.com'])
    const short = results('2026-01-02', ['a.com', 'b.com'], 2)
    const deep = results('2026-01-02', ['a.com', 'b.com', 'c.com'], 3)
    expect(lostRanks([...short, ...before], ['us.com'])).toEqual([])
    expect(lostRanks([...deep, ...before], ['us.com'])).toMatchObject([
      { rank: null, taker: 'c.com' },
    ])
  })
})

const scene = deskScene(async ({ story, pool }) => {
  await pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  const titles = ten('r').map((_, index) => `Old ${index}`)
  await story.night('2026-01-01', {
    boots: { results: placed(ten('r'), 2, 'us.com/1'), titles },
    socks: ten('r'),
  })
  await story.night('2026-01-02', {
    boots: {
      results: placed(placed(ten('r'), 4, 'us.com/1'), 2, 'new.com/'),
      titles: titles.with(0, 'Renamed'),
    },
    socks: ten('r'),
  })
})

test('the page of a query shows who took our rank, and when each page and title was first and last seen', async () => {
  const page = await scene.view(`/queries/${scene.story.idOf('boots')}`)
  expect(page).toMatch(/Lost ranks and who took them .* 2026-01-02 new\.com 2 4 us\.com/)
  expect(page).toMatch(
    /When pages were first and last seen .* us\.com\/1 2 2026-01-01 2026-01-02 2/,
  )
  expect(page).toMatch(
    /Changed titles .*Renamed r1\.com 2026-01-02 2026-01-02 1 .*Old 0 r1\.com 2026-01-01 2026-01-01 1/,
  )
})

test('a query without changes has no empty sections about them', async () => {
  const page = await scene.view(`/queries/${scene.story.idOf('socks')}`)
  expect(page).toContain('When pages were first and last seen')
  expect(page).not.toMatch(/Lost ranks and who took them|Changed titles|SERP features over time/)
})
