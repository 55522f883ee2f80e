import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { run } from '../../support/run.ts'
import { Story } from '../analysis/story.ts'

const at = { origin: 'sandbox', api: 'bundled' } as const
const still = Array.from({ length: 10 }, (_, place) => `a.example/${place}`)
const moved = [...still.slice(0, 9), 'b.example/new']

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
  const story = new Story(database.pool)
  story.says('red shoes', { tags: ['shoes'] }).says('hats', { tags: ['hats'] })
  for (let day = 1; day <= 28; day++) {
    const date = `2026-03-${String(day).padStart(2, '0')}`
    const shoes = { results: day < 15 ? still : moved, depth: 20, credits: 2 }
    const hats = { results: day % 2 === 0 ? still : moved, depth: 20, credits: 2 }
    await story.night(date, { 'red shoes': shoes, hats }, at)
  }
  await story.night('2026-03-28', { once: still }, { ...at, list: 'young' })
})
afterAll(() => database.close())

const cadence = (...flags: string[]) => run('cadence', flags, { DATABASE_URL: database.url })

interface Told {
  readonly lists: readonly {
    readonly list: string
    readonly price: number
    readonly whole: Readonly<Record<string, number>>
    readonly tags: readonly Readonly<Record<string, unknown>>[]
    readonly nights: readonly { run_date: string; queries: number; asked: number }[]
  }[]
}

const nothing: Told['lists'][number] = { list: '', price: 0, whole: {}, tags: [], nights: [] }

describe('npm run cadence', () => {
  test('replays the stored nights, and reports calls, moves and tags that add up', async () => {
    const { code, stdout } = await cadence('--backtest', '--json', '--list', 'main')
    expect(code).toBe(0)
    const { lists } = JSON.parse(stdout) as Told
    expect(lists.map(({ list, price }) => [list, price])).toEqual([['main', 2]])
    const { whole, tags, nights } = lists[0] ?? nothing
    // Hats change every night and shoes once; each change affects two pages.
    expect(whole).toMatchObject({ queries: 2, daily_calls: 56, moves: 27 * 2 + 2 })
    const { at_once: atOnce = 0, in_time: inTime = 0, late = 0, never = 0, calls } = whole
    expect(inTime + late + never).toBe(56)
    expect(atOnce).toBeLessThanOrEqual(inTime)
    expect(nights.reduce((sum, { asked }) => sum + asked, 0)).toBe(calls)
    expect(calls).toBeLessThan(56)
    expect(tags.map(({ tag, queries }) => [tag, queries])).toEqual([
      ['hats', 1],
      ['shoes', 1],
    ])
  })

  test('shows the savings for every list, and says that one night is not enough', async () => {
    const { stdout } = await cadence('--backtest')
    expect(stdout).toContain('main, 28 nights from 2026-03-01 to 2026-03-28')
    expect(stdout).toContain('56 into or out of the top 10, as a daily cadence sees them')
    expect(stdout).toMatch(/young, 1 night.*\nat least two nights are needed to show moves/)
  })

  test('says that no list is adaptive if none is, and which command to run', async () => {
    const { code, stdout } = await cadence()
    expect(code).toBe(0)
    expect(stdout).toContain('no list has an adaptive cadence, so every query is asked every night')
  })

  test.each([
    [['--list', 'nobody'], 'expected --list to name a list with answers, got nobody'],
    [
      ['--longest', '0d'],
      'expected --longest to be a whole number of days from 1d to 365d, got 0d',
    ],
    [['--share', '0%'], 'expected --share to be a percentage from 1% to 100%, got 0%'],
  ])('refuses %j with one line', async (flags, line) => {
    const { code, stderr } = await cadence('--backtest', ...flags)
    expect(code).toBe(2)
    expect(stderr).toContain(line)
  })
})
