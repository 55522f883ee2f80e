import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { storeAnswers } from '../../../src/store/answers/answers.ts'
import { countBodies, pruneBodies } from '../../../src/store/operator/prune.ts'
import { freshDatabase, type FreshDatabase } from '../../support/database.ts'
import { askQuery, paid } from '../paid.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

const day = 86_400_000

test('pruning removes bodies of that age and nothing else, once', async () => {
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
  expect(await pruneBodies(db, 90 * day)).toEqual(found)
  expect(await pruneBodies(db, 90 * day)).toEqual({ bodies: 0, bytes: 0, unread: 0 })

  const left = await db.selectFrom('raw_answers').select('call_id').execute()
  expect(left).toEqual([{ call_id: 4 }])
  expect(await rows()).toEqual(before)
})

test('pruning removes more bodies than one of its transactions takes', async () => {
  await sql`
    insert into raw_answers (call_id, status, received_at, body)
    select 1000 + n, 200, now() - interval '10 days', 'x' from generate_series(1, 4500) as n
  `.execute(database.db)
  expect(await pruneBodies(database.db, 5 * day)).toMatchObject({ bodies: 4501 })
})
