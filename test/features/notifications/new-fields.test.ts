import { afterEach, beforeEach, expect, test } from 'vitest'
import { sendNotices } from '../../../src/features/notifications/news.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { Story, ten } from '../analysis/story.ts'
import { openReceiver, type Receiver } from './receiver.ts'

let database: FreshDatabase
let receiver: Receiver
let story: Story

beforeEach(async () => {
  database = await freshDatabase()
  receiver = await openReceiver()
  story = new Story(database.pool)
})
afterEach(async () => {
  await receiver.close()
  await database.close()
})

/** A finished run whose answers have these fields, and whose first result has those. */
async function night(
  date: string,
  answer: object,
  { result = {}, api = 'api.example.com' }: { result?: object; api?: string } = {},
) {
  const searches = await story.night(date, { shoes: ten('a'), hats: ten('b') }, { api })
  const ids = [...searches.values()]
  await database.pool.query('update searches set extra = $2 where id = any($1)', [ids, answer])
  await database.pool.query(
    'update organic_results set extra = $2 where search_id = any($1) and ordinal = 1',
    [ids, result],
  )
  await database.pool.query('update runs set finished_at = now() where finished_at is null')
  return ids
}

async function told(events?: readonly string[]): Promise<readonly unknown[]> {
  const webhook = receiver.webhook({ events: events ?? ['new_field'] })
  expect(await sendNotices(database.db, { webhook, unattendedMs: 0 })).toBe(null)
  return receiver.bodies().splice(0)
}

test('a field that no answer of an API had before is reported once, with the number of answers that have it', async () => {
  await night('2026-01-01', { ads: [] }, { result: { stars: 5 } })
  // In the first answers of an API, no field is new.
  expect(await told()).toEqual([])
  await night('2026-01-02', { ads: [], questions: [] }, { result: { stars: 4, price: '$' } })
  await Promise.all([told(), told()])
  await told()
  expect(receiver.bodies()).toEqual([
    expect.objectContaining({
      event: 'new_field',
      api: 'api.example.com',
      list: 'main',
      run_date: '2026-01-02',
      text: 'querymill: answers from api.example.com in run 2 of main for 2026-01-02 have fields that no earlier answer had: questions (2 answers), result.price (2 answers); npm run sql -- answers --show fields',
      fields: [
        { place: 'answer', field: 'questions', answers: 2 },
        { place: 'result', field: 'price', answers: 2 },
      ],
    }),
  ])
})

test('a field of older answers is not new for a webhook that is set up later, nor for another API', async () => {
  await night('2026-01-01', { ads: [] }, { result: { stars: 5 } })
  await night('2026-01-02', { ads: [], questions: [] })
  expect(await told(['stop'])).toEqual([])
  await database.pool.query("update runs set finished_at = now() - interval '1 day'")
  await night('2026-01-03', { ads: [], questions: [] }, { result: { stars: 1 } })
  await night('2026-01-04', { video: [] }, { api: 'other.example.com' })
  expect(await told()).toEqual([])
  await night('2026-01-05', { ads: [], video: [] })
  await night('2026-01-06', { video: [], ads: [] }, { api: 'other.example.com' })
  await told()
  expect(receiver.bodies().map((body) => [body['api'], body['fields']])).toEqual([
    ['api.example.com', [{ place: 'answer', field: 'video', answers: 2 }]],
    ['other.example.com', [{ place: 'answer', field: 'ads', answers: 2 }]],
  ])
})

test.each([
  ['that finished in one batch with it', "update runs set state = 'done'"],
  ['that is still open', "update runs set state = 'open', finished_at = null where id = 3"],
])('a field is reported although a run %s bought an earlier answer with it', async (_, by) => {
  await night('2026-01-01', {})
  expect(await told()).toEqual([])
  const [first = 0] = await night('2026-01-02', {})
  await night('2026-01-02', { ads: [] })
  const late = await story.late(first, { results: ten('a') })
  await database.pool.query(`update searches set extra = '{"ads": []}' where id = $1`, [late])
  await database.pool.query(by)
  await told()
  await database.pool.query("update runs set state = 'done', finished_at = now()")
  await told()
  expect(receiver.bodies().map((body) => [body['run'], body['fields']])).toEqual([
    [2, [{ place: 'answer', field: 'ads', answers: 1 }]],
  ])
})
