// @module-tag slow
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Secret } from '../../../src/base/secret.ts'
import { endNights } from '../../../src/features/alerts/find-alerts.ts'
import { replaceAlertRules } from '../../../src/features/alerts/statements.ts'
import { sendNotices } from '../../../src/features/notifications/news.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { placed, Story, ten } from '../analysis/story.ts'
import { openReceiver, type Receiver } from './receiver.ts'

let database: FreshDatabase
let receiver: Receiver
let story: Story

beforeEach(async () => {
  database = await freshDatabase()
  receiver = await openReceiver()
  story = new Story(database.pool)
  const nothing = { threshold: null, direction: null, list: null, tag: null }
  await replaceAlertRules(database.db, [
    { ...nothing, name: 'lost', what: 'left', domain: '*', rival: null, feature: null, confirm: 1 },
  ])
})
afterEach(async () => {
  await receiver.close()
  await database.close()
})

async function night(date: string, results: readonly string[]) {
  const others = ['boots', 'socks', 'hats', 'gloves'].map((q) => [q, ten(q)] as const)
  const searches = await story.night(date, { shoes: results, ...Object.fromEntries(others) })
  await database.pool.query(
    'update runs set finished_at = clock_timestamp() where finished_at is null',
  )
  await endNights({ db: database.db, databaseUrl: database.url }, () => undefined)
  return searches.get('shoes')
}

function tell() {
  const secret = new Secret('obviously-fake-secret-of-a-test')
  const events = ['rank_alert', 'rank_recovered']
  return sendNotices(database.db, {
    webhook: receiver.webhook({ secret, events }),
    unattendedMs: 0,
  })
}

describe('a rank alert', () => {
  test('is reported once and signed, with both answers, positions, other domain and question, and so is its end', async () => {
    const base = await night('2026-03-01', ten('a'))
    const now = await night('2026-03-02', placed(placed(ten('a'), 4, 'taker.com/'), 7, 'b.com/'))
    await Promise.all([tell(), tell()])
    await tell()
    expect(receiver.bodies()).toEqual([
      expect.objectContaining({
        ...{ event: 'rank_alert', alert: 'lost', what: 'left', found: 2 },
        text: expect.stringMatching(
          /^querymill: rank alert lost: a\d\.com dropped out of the results for "shoes".* on 2026-03-02 compared with 2026-03-01 \(and 1 more: npm run alerts\); npm run sql -- keyword --q shoes --day 2026-03-02 --days 1$/,
        ),
      }),
    ])
    expect(receiver.got[0]?.headers['webhook-signature']).toMatch(/^v1,/)
    const told = receiver.bodies()[0]?.['alerts'] as { domain: string }[]
    expect(told.toSorted((a, b) => (a.domain < b.domain ? -1 : 1))).toEqual([
      expect.objectContaining({
        ...{ domain: 'a4.com', base_search_id: base, search_id: now, other_domain: 'taker.com' },
        ...{ previous_position: 4, position: null, q: 'shoes', run_date: '2026-03-02' },
        question: 'npm run sql -- keyword --q shoes --day 2026-03-02 --days 1',
      }),
      expect.objectContaining({ domain: 'a7.com', other_domain: 'b.com', previous_position: 7 }),
    ])
    await night('2026-03-03', placed(ten('a'), 7, 'b.com/'))
    await tell()
    const ends = receiver.bodies().filter(({ event }) => event === 'rank_recovered')
    expect(ends).toHaveLength(1)
    expect(ends[0]).toMatchObject({
      ...{ event: 'rank_recovered', alert: 'lost', found: 1, because: null },
      text: expect.stringMatching(
        /^querymill: rank alert lost ended on 2026-03-03, at 4\. It was: a4\.com dropped out of the results/,
      ),
      alerts: [{ position: 4, run_date: '2026-03-03' }],
    })
  })

  test('that is withdrawn is reported with the reason', async () => {
    for (const day of ['01', '02', '03']) await night(`2026-03-${day}`, ten('a'))
    await night('2026-03-04', placed(ten('a'), 4, 'taker.com/'))
    await database.pool.query(`
      update searches set parse_error = 'not JSON'
      where task_id in (select id from tasks where run_id = (select max(id) from runs));
      update runs set finished_at = clock_timestamp() where run_date = '2026-03-04'`)
    await endNights({ db: database.db, databaseUrl: database.url }, () => undefined)
    await tell()
    const texts = receiver.bodies().map(({ event, text }) => [event, text])
    expect(texts).toContainEqual([
      'rank_recovered',
      expect.stringMatching(
        /rank alert lost is withdrawn because run \d+ turned out to be suspect: a4\.com/,
      ),
    ])
  })

  test('that ends with its rule is not reported: the person who removed the rule knows', async () => {
    await night('2026-03-01', ten('a'))
    await night('2026-03-02', placed(ten('a'), 4, 'taker.com/'))
    await tell()
    await replaceAlertRules(database.db, [])
    await tell()
    expect(receiver.bodies().map(({ event }) => event)).toEqual(['rank_alert'])
  })
})
