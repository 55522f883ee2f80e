import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readBatches } from '../../../src/features/analysis/ask.ts'
import { findQuestion } from '../../../src/features/analysis/library.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { placed, Story, ten } from './story.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
  await database.pool.query("insert into own_domains (domain, label) values ('us.com', 'Us')")
  const story = new Story(database.pool).says('shoes', { weight: 2 })
  const first = placed(ten('r'), 1, 'us.com/shop/shoes')
  await story.night('2026-01-01', {
    shoes: first,
    boots: placed(ten('r'), 1, 'www.us.com/shop/boots'),
    hats: placed(ten('r'), 2, 'us.com/news/hats'),
  })
  await story.night('2026-01-08', {
    shoes: placed(first, 1, 'fresh.com/').with(1, 'us.com/shop/shoes'),
    boots: placed(ten('r'), 1, 'r9.com/more').with(8, 'us.com/shop/boots'),
    hats: placed(ten('r'), 2, 'us.com/news/hats'),
    scarves: ['other.com/', 'r1.com/', 'r2.com/'],
  })
})
afterAll(() => database.close())

async function ask(typed: string, ...flags: string[]): Promise<(string | null)[][]> {
  const reading = { ...findQuestion(typed, flags), timeoutMs: 20_000, warn: () => undefined }
  const found: (string | null)[][] = []
  for await (const { rows } of readBatches(database.pool, reading)) {
    found.push(...rows.map((row) => [...row]))
  }
  return found
}

/** The first positions of the click curve. */
const ctr = { 1: 0.312, 2: 0.16 } as const

describe('everyday questions', () => {
  test('a page that lost is shown with its weighted loss, and with what took its position', async () => {
    const [ninth] = await ask('select ctr from analysis.ctr where position = 9')
    const lost = await ask('pages', '--change', 'lost')
    expect(
      lost.map(([page, , , , , down, , , example, taker]) => [page, down, example, taker]),
    ).toEqual([
      ['us.com/shop/shoes', '1', 'shoes', 'fresh.com'],
      ['us.com/shop/boots', '1', 'boots', 'r9.com'],
    ])
    expect(Number(lost[0]?.[1])).toBeCloseTo(-2 * (ctr[1] - ctr[2]), 2)
    expect(Number(lost[1]?.[1])).toBeCloseTo(Number(ninth?.[0]) - ctr[1], 2)
  })

  test('folders gain and lose what their pages do', async () => {
    const [shop, news] = await ask('pages', '--folders', '1')
    const pages = await ask('pages')
    const sum = pages.reduce((total, row) => total + Number(row[1]), 0)
    expect(shop?.[0]).toBe('us.com/shop')
    expect(Number(shop?.[1])).toBeCloseTo(sum, 2)
    expect(shop?.slice(6, 8)).toEqual(['2', '2'])
    expect(news?.slice(0, 2)).toEqual(['us.com/news', '0.000'])
  })

  test('a domain is new if no earlier answer showed it, among queries of both days', async () => {
    expect(await ask('domains', '--show', 'new', '--days', '7')).toEqual([
      ['fresh.com', '1', '1', 'shoes', '2026-01-01', '2026-01-08'],
    ])
  })

  test('a query first bought between the two days is no gain for any domain, and counted separately', async () => {
    const winners = await ask('domains')
    const of = (domain: string) => winners.find(([name]) => name === domain)?.slice(2)
    // Up, down, ranked among queries that both days have, new, newly asked.
    expect(of('fresh.com')).toEqual(['1', '0', '1', 't', '0'])
    expect(of('r2.com')).toEqual(['0', '1', '1', 'f', '1'])
    expect(of('other.com')).toBe(undefined)
    for (const question of ['ranks', 'pages', 'domains-takers']) {
      const told = await ask(question, '--domain', 'other.com')
      expect(told).toEqual([])
    }
  })

  test('unchanged queries are the most stable ones', async () => {
    expect(
      (await ask('volatility', '--order', 'least')).map(([q, changed]) => [q, changed]),
    ).toEqual([
      ['hats', '0'],
      ['shoes', '1'],
      ['boots', '1'],
    ])
  })

  test('two domains are compared query by query', async () => {
    expect(
      (await ask('domains', '--show', 'rival', '--rival', 'r1.com')).map((row) => row.slice(0, 4)),
    ).toEqual([
      ['shoes', '2', null, 'we'],
      ['scarves', null, '2', 'they'],
      ['hats', '2', '1', 'they'],
      ['boots', '9', null, 'we'],
    ])
  })
})
