import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endNights } from '../../../src/features/alerts/find-alerts.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'
import { placed, Story, ten } from '../analysis/story.ts'

let database: FreshDatabase
let story: Story
const home = temporaryFolder('alerts')
const call = (command: string, ...args: string[]) =>
  run(command, args, { DATABASE_URL: database.url, MILL_HOME: home, INIT_CWD: home })
const alerts = (...args: string[]) => call('alerts', ...args)

async function night(date: string, results: readonly string[]) {
  const searches = await story.night(date, { "women's shoes": results })
  await database.pool.query(
    'update runs set finished_at = clock_timestamp() where finished_at is null',
  )
  await endNights({ db: database.db, databaseUrl: database.url }, () => undefined)
  return searches.get("women's shoes")
}

beforeAll(async () => {
  database = await freshDatabase()
  story = new Story(database.pool)
})
afterAll(() => database.close())

describe('npm run alerts', () => {
  test('activates the rules of a file, all of them or none, and says what changed', async () => {
    expect((await alerts()).stdout).toMatch(/^No alerts so far; npm run alerts -- rules/)
    expect((await alerts('rules')).stdout).toMatch(
      /^No rules are in force; to load .*alerts\.csv: npm run alerts -- load/,
    )
    const shipped = await alerts('load')
    expect([shipped.code, shipped.stdout]).toEqual([0, '0 rules in force (unchanged)\n'])
    writeFileSync(
      join(home, 'mine.csv'),
      'alert,what,threshold,domain\nlost,left,,ours.com\nfell,moved,3,ours.com\n',
    )
    expect((await alerts('load', 'mine.csv')).stdout).toBe(
      'added  lost\nadded  fell\n2 rules in force\n',
    )
    writeFileSync(
      join(home, 'bad.csv'),
      'alert,what,threshold,list\nkept,left,,nowhere\nfell,moved,-3,\n',
    )
    const bad = await alerts('load', 'bad.csv')
    expect([bad.code, bad.stderr.trim().split('\n')]).toEqual([
      2,
      [
        'error: bad.csv:2: list: expected the name of an enqueued list, or the path of a list file, got "nowhere"',
        'bad.csv:3: threshold: expected a whole number of positions from 1 to 100, got "-3"',
      ],
    ])
    const { rules } = JSON.parse((await alerts('rules', '--json')).stdout)
    expect(rules.map(({ name }: { name: string }) => name)).toEqual(['lost', 'fell'])
  })

  test('shows an alert with both answers and a command that can be copied', async () => {
    const base = await night('2026-03-01', placed(ten('a'), 4, 'ours.com/'))
    const now = await night('2026-03-02', placed(ten('a'), 4, 'taker.com/'))
    const shown = JSON.parse((await alerts('--rule', 'lost', '--json')).stdout)
    expect(shown.alerts).toEqual([
      expect.objectContaining({
        ...{ alert: 'lost', state: 'standing', q: "women's shoes", domain: 'ours.com' },
        ...{ base_search_id: base, search_id: now, previous_position: 4, position: null },
        ...{ other_domain: 'taker.com', recovered_run_date: null },
      }),
    ])
    const [{ id, question }] = shown.alerts
    expect((await alerts('show', String(id))).stdout).toContain(
      `answers   ${base} (2026-03-01), ${now} (2026-03-02)`,
    )
    expect(question).toBe(
      "npm run sql -- keyword --q 'women'\\''s shoes' --day 2026-03-02 --days 1",
    )
    const asked = await call(
      ...(['sql', 'keyword', '--q', "women's shoes"] as const),
      ...['--day', '2026-03-02', '--days', '1'],
    )
    expect(asked.stdout).toMatch(/went\s+4\s+ours\.com/)
    expect(asked.stdout).toMatch(/came\s+4\s+taker\.com/)
  })

  test('keeps an alert that has recovered, and no longer lists it as open', async () => {
    await night('2026-03-03', placed(ten('a'), 5, 'ours.com/'))
    expect((await alerts('--rule', 'lost')).stdout).toMatch(/2026-03-02\s+recovered\s+lost/)
    expect(JSON.parse((await alerts('--standing', '--json')).stdout).alerts).toEqual([])
    expect((await alerts('show', '999')).code).toBe(2)
    expect((await alerts('shew')).code).toBe(2)
  })
})
