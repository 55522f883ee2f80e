import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storeAnswers } from '../../../src/core/answers/store.ts'
import { countBodies, pruneBodies } from '../../../src/features/forget/prune.ts'
import { askQuery, paid } from '../../support/paid.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

const day = 86_400_000

test('pruning removes bodies older than the age and nothing else, once', async () => {
  const { db } = database
  await askQuery(db)
  const bodies = [
    paid(1, { intent: 'old' }),
    paid(2, '<html>'),
    { ...paid(3, 'cut'), status: 502, search: null },
    paid(4, { intent: 'new' }),
  ]
  await db.transaction().execute((trx) => storeAnswers(trx, bodies))
  await sql`
    update raw_answers
    set received_at = now() - case when call_id < 4 then interval '91 days' else interval '89 days' end
  `.execute(db)
  const rows = () => db.selectFrom('searches').selectAll().orderBy('id').execute()
  const before = await rows()

  const found = { bodies: 3, bytes: 16 + 6 + 3, unread: 1 }
  expect(await countBodies(db, 90 * day)).toEqual(found)
  expect(await pruneBodies(db, 90 * day)).toBe(found.bodies)
  expect(await pruneBodies(db, 90 * day)).toBe(0)

  const left = await db.selectFrom('raw_answers').select('call_id').execute()
  expect(left).toEqual([{ call_id: 4 }])
  expect(await rows()).toEqual(before)
})

test('pruning removes more bodies than one of its transactions holds', async () => {
  await sql`
    insert into raw_answers (call_id, status, received_at, body)
    select 1000 + n, 200, now() - interval '10 days', 'x' from generate_series(1, 4500) as n
  `.execute(database.db)
  expect(await pruneBodies(database.db, 5 * day)).toBe(4501)
})

test('pruning keeps every body that was recent when it began, however long it takes', async () => {
  const { db } = await freshDatabase()
  await sql`
    insert into raw_answers (call_id, status, received_at, body)
    select n, 200, case when n in (10, 3000) then clock_timestamp() else now() - interval '1 day' end, 'x'
    from generate_series(1, 3000) as n`.execute(db)
  const blocker = await db.startTransaction().execute()
  await sql`select from raw_answers where call_id = 1 for update`.execute(blocker)
  const pruning = pruneBodies(db, 2_000)
  await expect
    .poll(async () => {
      const { rows } = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      return rows.length
    })
    .toBeGreaterThan(0)
  // After the time at which both would be old enough for a moving limit.
  await sql`select pg_sleep_until(max(received_at) + interval '2.1 seconds') from raw_answers`.execute(
    db,
  )
  await blocker.commit().execute()
  expect(await pruning).toBe(2_998)
  const left = await sql<{ call_id: number }>`select call_id from raw_answers order by 1`.execute(
    db,
  )
  expect(left.rows).toEqual([{ call_id: 10 }, { call_id: 3000 }])
})
