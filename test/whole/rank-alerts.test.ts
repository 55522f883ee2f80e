// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endNights } from '../../src/features/alerts/find-alerts.ts'
import {
  type AlertRule,
  listAlerts,
  replaceAlertRules,
} from '../../src/features/alerts/statements.ts'
import { type Answers, placed, Story, ten } from '../features/analysis/story.ts'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'

let database: FreshDatabase
let story: Story
let told: string[]

beforeEach(async () => {
  database = await freshDatabase()
  story = new Story(database.pool)
  told = []
  await database.pool.query("insert into own_domains (domain, label) values ('ours.com', 'Ours')")
})
afterEach(() => database.close())

const rule = (name: string, what: AlertRule['what'], more: Partial<AlertRule> = {}): AlertRule => ({
  ...{ name, what, threshold: null, direction: null, list: null, tag: null },
  ...{ domain: null, rival: null, feature: null, confirm: 1, ...more },
})

/** A run with its answers; the test ends it. */
async function plan(date: string, answers: Answers, list = 'main') {
  const searches = await story.night(date, answers, { list })
  const { rows } = await database.pool.query<{ id: number }>('select max(id) as id from runs')
  const id = rows[0]?.id ?? 0
  const end = () =>
    database.pool.query('update runs set finished_at = clock_timestamp() where id = $1', [id])
  return { id, searches, end }
}

const look = () =>
  endNights({ db: database.db, databaseUrl: database.url }, (line) => told.push(line))

async function night(date: string, answers: Answers, list = 'main') {
  const run = await plan(date, answers, list)
  await run.end()
  await look()
  return run
}

const everything = { id: null, rule: null, standing: false, limit: 1000 }

/** Every alert, oldest first, in one line each. */
async function alerts() {
  const rows = (await listAlerts(database.db, everything)).toReversed()
  return rows.map(({ alert, q, domain, run_date: date, state }) =>
    [date, alert, domain ?? '-', q ?? '-', state].join(' '),
  )
}

const usual = {
  grid: placed(ten('g'), 4, 'ours.com/grid'),
  flex: placed(ten('f'), 2, 'ours.com/flex'),
  webp: placed(placed(ten('w'), 3, 'ours.com/webp'), 5, 'rival.com/'),
  avif: ten('a'),
  cors: placed(ten('c'), 5, 'ours.com/right'),
  fonts: placed(ten('t'), 8, 'ours.com/fonts'),
} satisfies Answers

const changed = {
  grid: placed(ten('g'), 4, 'taker.com/'),
  flex: placed(placed(ten('f'), 6, 'ours.com/flex'), 2, 'taker.com/'),
  webp: placed(placed(ten('w'), 3, 'ours.com/webp'), 2, 'rival.com/'),
  avif: placed(ten('a'), 9, 'ours.com/avif'),
  cors: placed(ten('c'), 5, 'ours.com/wrong'),
  fonts: placed(ten('t'), 8, 'ours.com/fonts'),
} satisfies Answers

const failed = Object.fromEntries(Object.keys(usual).map((q) => [q, 'failed' as const]))
const empty = Object.fromEntries(Object.keys(usual).map((q) => [q, []]))
const shallow = Object.fromEntries(Object.entries(usual).map(([q, urls]) => [q, urls.slice(0, 1)]))

const one = [
  rule('lost', 'left'),
  rule('lost for good', 'left', { confirm: 2 }),
  rule('won', 'entered'),
  rule('moved', 'moved', { threshold: 3 }),
  rule('top three', 'crossed', { threshold: 3 }),
  rule('share', 'share_fell', { threshold: 20 }),
  rule('rival', 'rival_passed', { rival: 'rival.com' }),
  rule('part', 'new_feature'),
  rule('page', 'wrong_page'),
  rule('another list', 'left', { list: 'others' }),
  rule('another label', 'left', { tag: 'brand' }),
]

describe('rank alerts', () => {
  test('are not raised by a failed, a shallow or an empty night, and then exactly as expected', async () => {
    await replaceAlertRules(database.db, one)
    story.says('cors', { target: 'https://ours.com/right' })
    for (const day of ['01', '02', '03']) await night(`2026-03-${day}`, usual)
    await night('2026-03-04', failed)
    await night('2026-03-05', shallow)
    await night('2026-03-06', empty)
    expect(await alerts()).toEqual([])
    const bad = await database.pool.query('select run_date from runs where suspect order by id')
    expect(bad.rows.map(({ run_date: date }) => date)).toEqual([
      ...['2026-03-04', '2026-03-05', '2026-03-06'],
    ])

    const run = await plan('2026-03-07', changed)
    await database.pool.query(
      `update searches set extra = '{"featured_snippet": {"url": "x"}, "ads": []}' where id = $1`,
      [run.searches.get('fonts')],
    )
    await run.end()
    await look()
    expect((await alerts()).toSorted()).toEqual([
      '2026-03-07 lost ours.com grid standing',
      '2026-03-07 moved ours.com flex standing',
      '2026-03-07 moved ours.com grid standing',
      '2026-03-07 page ours.com cors standing',
      '2026-03-07 part - fonts standing',
      '2026-03-07 rival ours.com webp standing',
      '2026-03-07 share ours.com - standing',
      '2026-03-07 top three ours.com flex standing',
      '2026-03-07 won ours.com avif standing',
    ])
    await night('2026-03-08', changed)
    expect((await alerts()).slice(9)).toEqual(['2026-03-08 lost for good ours.com grid standing'])
    await night('2026-03-09', usual)
    const last = await alerts()
    expect(last.slice(0, 10).filter((line) => !line.endsWith(' recovered'))).toEqual([])
    // Pages that left have entered again, and pages that entered have left.
    expect(last.slice(10).toSorted()).toEqual([
      '2026-03-09 lost ours.com avif standing',
      '2026-03-09 won ours.com grid standing',
    ])
  })

  test('contain both answers, both positions, the other domain, and a question that shows it', async () => {
    await replaceAlertRules(database.db, [
      rule('lost', 'left', { domain: 'ours.com' }),
      rule('share', 'share_fell', { threshold: 20 }),
    ])
    const before = await night('2026-03-01', usual)
    await night('2026-03-02', failed)
    const after = await night('2026-03-03', changed)
    const [share, lost] = await listAlerts(database.db, everything)
    expect(lost).toMatchObject({
      base_search_id: before.searches.get('grid'),
      search_id: after.searches.get('grid'),
      ...{ base_run_date: '2026-03-01', run_date: '2026-03-03', run: after.id },
      ...{ previous_position: 4, position: null, other_domain: 'taker.com' },
      text: 'ours.com dropped out of the results for "grid" (was 4; taker.com took its position), on 2026-03-03 compared with 2026-03-01',
      question: 'npm run sql -- keyword --q grid --day 2026-03-03 --days 2',
    })
    const { rows } = await database.pool.query<{ share: number }>(
      `select share_of_voice as share
      from analysis.share_of_voice
      where domain = 'ours.com' and tag = '*'
      order by run_date`,
    )
    expect(share).toMatchObject({
      // Sums of the same shares, added in any order.
      ...{ previous_share: expect.closeTo(rows[0]?.share ?? 0, 12) },
      ...{ share: expect.closeTo(rows[1]?.share ?? 0, 12), other_domain: 'taker.com' },
      question: 'npm run sql -- shares --over day --domain ours.com',
    })
    expect(told).toContain(`rank alert lost: ${lost?.text}`)
  })

  test('are raised once by three concurrent processes, and not again by a later check', async () => {
    await replaceAlertRules(database.db, one)
    await night('2026-03-01', usual)
    const run = await plan('2026-03-02', changed)
    await run.end()
    await Promise.all([look(), look(), look()])
    await look()
    const found = await alerts()
    expect(found).toHaveLength(new Set(found).size)
    expect(found).toContain('2026-03-02 lost ours.com grid standing')
    // A run that continues and ends again is checked again.
    await run.end()
    await look()
    expect(await alerts()).toEqual(found)
  })

  test('of a night that ends after a later one was checked are neither raised twice nor treated as newer', async () => {
    await replaceAlertRules(database.db, [rule('lost', 'left'), rule('won', 'entered')])
    await night('2026-03-01', usual)
    const late = await plan('2026-03-02', changed)
    await night('2026-03-03', changed)
    const found = await alerts()
    expect(found).toEqual(
      ['2026-03-03 won ours.com avif standing', '2026-03-03 lost ours.com grid standing'].toSorted(
        (a, b) => found.indexOf(a) - found.indexOf(b),
      ),
    )
    await late.end()
    await look()
    expect(await alerts()).toEqual(found)
  })

  test('based on a night that is later judged suspect are withdrawn, and the night is not used for comparison any more', async () => {
    await replaceAlertRules(database.db, [rule('lost', 'left')])
    for (const day of ['01', '02', '03']) await night(`2026-03-${day}`, usual)
    const odd = await night('2026-03-04', changed)
    expect(await alerts()).toEqual(['2026-03-04 lost ours.com grid standing'])
    await database.pool.query(
      "update searches set parse_error = 'not JSON' where task_id in (select id from tasks where run_id = $1)",
      [odd.id],
    )
    await odd.end()
    await look()
    expect(await alerts()).toEqual(['2026-03-04 lost ours.com grid withdrawn'])
    expect(told.at(-1)).toBe(`1 rank alert withdrawn: run ${odd.id} is suspect`)
    const next = await night('2026-03-05', changed)
    const [newest] = await listAlerts(database.db, everything)
    expect(newest).toMatchObject({ run: next.id, base_run_date: '2026-03-03', state: 'standing' })
  })

  test('of a share are withdrawn with the day that they were compared with', async () => {
    await replaceAlertRules(database.db, [
      rule('share', 'share_fell', { threshold: 20 }),
      rule('list', 'share_fell', { threshold: 20, list: 'main' }),
    ])
    for (const day of ['01', '02']) await night(`2026-03-${day}`, usual)
    const base = await night('2026-03-03', usual)
    await night('2026-03-04', changed)
    expect((await alerts()).toSorted()).toEqual([
      '2026-03-04 list ours.com - standing',
      '2026-03-04 share ours.com - standing',
    ])
    await database.pool.query(
      'update searches set result_count = 0 where task_id in (select id from tasks where run_id = $1)',
      [base.id],
    )
    await base.end()
    await look()
    expect((await alerts()).toSorted()).toEqual([
      '2026-03-04 list ours.com - withdrawn',
      '2026-03-04 share ours.com - withdrawn',
    ])
  })

  test('do not end because of an older answer, if the one that raised them becomes unreadable', async () => {
    await replaceAlertRules(database.db, [rule('lost', 'left')])
    await night('2026-03-01', { grid: usual.grid })
    const gone = await night('2026-03-02', { grid: changed.grid })
    await database.pool.query("update searches set parse_error = 'not JSON' where id = $1", [
      gone.searches.get('grid'),
    ])
    await gone.end()
    await look()
    expect(await alerts()).toEqual(['2026-03-02 lost ours.com grid standing'])
    await night('2026-03-03', { grid: usual.grid })
    expect(await alerts()).toEqual(['2026-03-02 lost ours.com grid recovered'])
  })

  test('start with the rule, and end with it', async () => {
    await night('2026-03-01', usual)
    await night('2026-03-02', changed)
    await replaceAlertRules(database.db, [rule('lost', 'left'), rule('won', 'entered')])
    await look()
    expect(await alerts()).toEqual([])
    await night('2026-03-03', usual)
    await night('2026-03-04', changed)
    await replaceAlertRules(database.db, [rule('won', 'entered')])
    expect((await alerts()).toSorted()).toEqual([
      '2026-03-03 lost ours.com avif recovered',
      '2026-03-03 won ours.com grid recovered',
      '2026-03-04 lost ours.com grid withdrawn',
      '2026-03-04 won ours.com avif standing',
    ])
  })

  test('of the sandbox say so, and are never mixed with live answers', async () => {
    await replaceAlertRules(database.db, [rule('lost', 'left')])
    await night('2026-03-01', usual)
    await story.night('2026-03-02', changed, { origin: 'sandbox' })
    await database.pool.query(
      'update runs set finished_at = clock_timestamp() where finished_at is null',
    )
    await look()
    expect(await alerts()).toEqual([])
    await story.night('2026-03-03', usual, { origin: 'sandbox' })
    await story.night('2026-03-04', changed, { origin: 'sandbox' })
    await database.pool.query(
      'update runs set finished_at = clock_timestamp() where finished_at is null',
    )
    await look()
    const [sandbox] = await listAlerts(database.db, everything)
    expect(sandbox?.text).toMatch(/^\(sandbox\) ours.com dropped out of the results for "grid"/)
    expect(sandbox?.question).toContain('npm run sql -- --origins sandbox keyword')
  })

  test('of any domain and any rival are found, only for the queries of one list or label', async () => {
    await replaceAlertRules(database.db, [
      rule('anybody', 'left', { domain: '*', tag: 'brand' }),
      rule('passed', 'rival_passed', { rival: '*', list: 'main' }),
    ])
    story.says('grid', { tags: ['brand'] })
    await night('2026-03-01', { grid: usual.grid, webp: usual.webp })
    await night('2026-03-02', { grid: placed(usual.grid, 10, 'new.com/'), webp: changed.webp })
    await night('2026-03-03', { webp: usual.webp }, 'others')
    expect((await alerts()).toSorted()).toEqual([
      '2026-03-02 anybody g10.com grid standing',
      '2026-03-02 passed ours.com webp standing',
    ])
  })
})
